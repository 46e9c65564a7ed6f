package demo;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;
import org.redisson.client.codec.Codec;
import org.redisson.client.codec.StringCodec;
import org.redisson.codec.Kryo5Codec;

/**
 * What the compressing codecs of a Redisson make of some values. A line has the codec, the value, the
 * bytes that the codec within made of it and the compressed ones. With "read" behind it decodes such lines from
 * stdin, whose compressed bytes anyone may have written, and fails where one is another value.
 */
public final class Compressed {

    private static final Map<String, String> CLASSES = new LinkedHashMap<>();

    static {
        CLASSES.put("lz4", "LZ4Codec");
        CLASSES.put("lz4-v2", "LZ4CodecV2");
        CLASSES.put("snappy", "SnappyCodec");
        CLASSES.put("snappy-v2", "SnappyCodecV2");
        CLASSES.put("zstd", "ZStdCodec");
    }

    private static Map<String, Object> values() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("null", null);
        values.put("empty", "");
        values.put("short", "hello");
        values.put("long", 1L << 40);
        values.put("twice", "order-4711 order-4711");
        values.put("order", "{\"id\":4711,\"name\":\"order-4711\",\"items\":[{\"sku\":\"sku-1\",\"amount\":1},{\"sku\":\"sku-2\",\"amount\":2},{\"sku\":\"sku-3\",\"amount\":3}]}");
        values.put("zeros", new byte[100_000]);
        byte[] noise = new byte[300];
        new Random(1).nextBytes(noise);
        values.put("noise", noise);
        values.put("mixed", "abc".repeat(50) + new String(noise, StandardCharsets.ISO_8859_1) + "xyz".repeat(30_000));
        return values;
    }

    /** The codec as it is without arguments, or null where the release, or this class path, has none. */
    private static Codec codec(String name, Codec inner) throws ReflectiveOperationException {
        try {
            Class<?> c = Class.forName("org.redisson.codec." + CLASSES.get(name));
            return (Codec) (inner == null ? c.getConstructor().newInstance() : c.getConstructor(Codec.class).newInstance(inner));
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("read")) {
            read();
            return;
        }
        HexFormat hex = HexFormat.of();
        for (String name : CLASSES.keySet()) {
            Codec codec = codec(name, null);
            if (codec == null) {
                continue;
            }
            Object inner = field(codec, "innerCodec");
            System.out.println("# " + name + " wraps " + inner.getClass().getSimpleName());
            codec = codec(name, new Kryo5Codec());
            for (Map.Entry<String, Object> value : values().entrySet()) {
                byte[] plain = Wire.encode(new Kryo5Codec(), value.getValue());
                byte[] compressed = Wire.encode(codec, value.getValue());
                String shown = plain.length <= 1000 ? hex.formatHex(plain) : "sha256:" + hex.formatHex(java.security.MessageDigest.getInstance("SHA-256").digest(plain));
                System.out.println(String.join("\t", name, value.getKey(), shown, hex.formatHex(compressed)));
            }
        }
    }

    private static void read() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int lines = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t");
            Codec codec = parts.length == 4 ? codec(parts[0], new Kryo5Codec()) : null;
            if (codec == null) {
                continue;
            }
            Object wanted = values().get(parts[1]);
            Object came = Wire.decode(codec, HexFormat.of().parseHex(parts[3]));
            if (!Arrays.deepEquals(new Object[]{wanted}, new Object[]{came})) {
                throw new AssertionError(parts[0] + " " + parts[1] + ": read " + came);
            }
            lines++;
        }
        System.out.println("# " + lines + " read");
    }

    private static Object field(Object of, String name) throws ReflectiveOperationException {
        java.lang.reflect.Field field = of.getClass().getDeclaredField(name);
        field.setAccessible(true);
        return field.get(of);
    }

    private Compressed() {
    }
}
