package demo;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.redisson.client.codec.Codec;

/**
 * What Jackson's codecs of a Redisson make of some values: a line has the codec, the value, the bytes, and the JSON that
 * JsonJacksonCodec makes of it. With "read" behind it decodes such lines from stdin, and fails where one
 * is another value.
 */
public final class Forms {

    private static final Map<String, String> CLASSES = new LinkedHashMap<>();

    static {
        CLASSES.put("json", "JsonJacksonCodec");
        CLASSES.put("cbor", "CborJacksonCodec");
        CLASSES.put("msgpack", "MsgPackJacksonCodec");
        CLASSES.put("smile", "SmileJacksonCodec");
        CLASSES.put("ion", "IonJacksonCodec");
        CLASSES.put("avro", "AvroJacksonCodec");
        CLASSES.put("json3", "JsonJackson3Codec");
        CLASSES.put("typed-json3", "TypedJsonJackson3Codec");
        CLASSES.put("cbor3", "CborJackson3Codec");
        CLASSES.put("smile3", "SmileJackson3Codec");
        CLASSES.put("kryo", "KryoCodec");
    }

    /** A message as services have them. */
    public static class Order implements Serializable {
        private static final long serialVersionUID = 1;
        public int id;
        public String name;
        public Long total;
        public double weight;
        public boolean paid;
        public List<String> tags;
        public Map<String, Object> more;
        public byte[] raw;
        public Order parent;
        public Date at;

        static Order of(int id) {
            Order o = new Order();
            o.id = id;
            o.name = "bob";
            o.total = 1L << 40;
            o.weight = 0.5;
            o.paid = true;
            o.tags = new ArrayList<>(List.of("a", "b"));
            o.more = new LinkedHashMap<>(Map.of("n", 7L));
            o.raw = new byte[]{1, 2, (byte) 0xff};
            o.at = new Date(1_700_000_000_123L);
            return o;
        }
    }

    /** Where a field declares what its value is. */
    public static class Declared implements Serializable {
        private static final long serialVersionUID = 2;
        public long primitive = 1;
        public Long boxed = 2L;
        public Object any = 3L;
        public List<Long> list = new ArrayList<>(List.of(4L));
        public Map<String, Long> map = new LinkedHashMap<>(Map.of("k", 5L));
        public UUID uuid = new UUID(0x0123456789abcdefL, 0x8edcba9876543210L);
        public Object anyUuid = uuid;
        public List<UUID> uuids = new ArrayList<>(List.of(uuid));
        public Date date = new Date(1_700_000_000_000L);
        public Object anyDate = new Date(-7L);
        public BigDecimal decimal = new BigDecimal("1E+3");
        public BigInteger integer = BigInteger.TEN;
        public short s = 6;
        public Byte b = 7;
        public Float f = 1.25f;
        public Double d = 0.0;
        public Character c = 'c';
        public Object anyFloat = 1.25f;
        public Color color = Color.GREEN;
        public Object anyColor = Color.RED;
        public String nothing;
    }

    public enum Color { RED, GREEN }

    private static Map<String, Object> values() {
        Map<String, Object> v = new LinkedHashMap<>();
        v.put("declared", new Declared());
        v.put("null", null);
        v.put("true", true);
        for (int n : new int[]{0, 1, -1, 15, 16, -16, -17, 23, 24, 31, 32, -32, -33, 63, 64, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536, -32768, -32769,
            Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            v.put("int " + n, n);
        }
        for (long n : new long[]{0, -1, 1L << 31, 1L << 32, 1L << 40, Long.MAX_VALUE, Long.MIN_VALUE}) {
            v.put("long " + n, n);
        }
        for (double d : new double[]{0, -0.0, 0.5, 1e300, 1 / 3.0, Double.NaN, Double.POSITIVE_INFINITY}) {
            v.put("double " + d, d);
        }
        v.put("float", 1.5f);
        v.put("short", (short) 7);
        v.put("byte", (byte) 7);
        v.put("char", 'x');
        v.put("bigint", BigInteger.ONE.shiftLeft(80));
        v.put("bigint small", BigInteger.valueOf(-5));
        v.put("decimal", new BigDecimal("12.340"));
        v.put("decimal whole", new BigDecimal("-7"));
        v.put("date", new Date(1_700_000_000_123L));
        v.put("uuid", new UUID(0x0123456789abcdefL, 0x8edcba9876543210L));
        for (String s : new String[]{"", "x", "é", "e\u0301\u00fc", "日本", "😀", "a\"\n\u0001"}) {
            v.put("text " + HexFormat.of().formatHex(s.getBytes(StandardCharsets.UTF_8)), s);
        }
        for (int n : new int[]{23, 24, 31, 32, 33, 34, 55, 56, 57, 63, 64, 65, 66, 67, 255, 256, 70_000}) {
            v.put("long text " + n, "x".repeat(n));
            v.put("long umlauts " + n, "ü".repeat(n));
        }
        v.put("bytes", new byte[]{0, 1, 2, 127, -128, -1});
        v.put("bytes none", new byte[0]);
        v.put("bytes 300", new byte[300]);
        v.put("list none", new ArrayList<>());
        v.put("list", new ArrayList<>(Arrays.asList(1, 2L, "x", null, 2.5, true, new ArrayList<>(List.of("y")))));
        List<Object> many = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            many.add("word" + i % 20);
        }
        v.put("list 40", many);
        Map<String, Object> map = new LinkedHashMap<>();
        v.put("map none", new LinkedHashMap<>());
        map.put("a", 1);
        map.put("b", "x");
        map.put("ü", List.of());
        map.remove("ü");
        v.put("map", map);
        Map<String, Object> wide = new LinkedHashMap<>();
        for (int i = 0; i < 70; i++) {
            wide.put("key" + i, i);
        }
        v.put("map 70", wide);
        v.put("order", Order.of(7));
        Order child = Order.of(8);
        child.parent = Order.of(9);
        child.total = null;
        v.put("order parent", child);
        v.put("orders", new ArrayList<>(List.of(Order.of(1), Order.of(2))));
        return v;
    }

    private static Codec codec(String name, Object value) throws ReflectiveOperationException {
        try {
            Class<?> c = Class.forName("org.redisson.codec." + CLASSES.get(name));
            if (name.startsWith("typed")) {
                return (Codec) c.getConstructor(Class.class).newInstance(value == null ? String.class : value.getClass());
            }
            return (Codec) c.getConstructor().newInstance();
        } catch (ClassNotFoundException | NoClassDefFoundError | java.lang.reflect.InvocationTargetException e) {
            return null;
        }
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("read")) {
            read();
            return;
        }
        for (String name : CLASSES.keySet()) {
            for (Map.Entry<String, Object> value : values().entrySet()) {
                Codec codec = codec(name, value.getValue());
                if (codec == null) {
                    continue;
                }
                String bytes;
                try {
                    byte[] written = Wire.encode(codec, value.getValue());
                    bytes = HexFormat.of().formatHex(written);
                    String back = deep(Wire.decode(codec, written));
                    String want = deep(value.getValue());
                    if (!back.equals(want)) {
                        bytes += "\tback " + back.replaceAll("[^ -~]", "?").substring(0, Math.min(60, back.length()));
                    }
                } catch (Exception | Error e) {
                    bytes = "-\t" + e.getClass().getName();
                }
                System.out.println(name + "\t" + value.getKey() + "\t" + bytes);
            }
        }
    }

    /** A value as text, with the class of each part. */
    private static String deep(Object value) throws IllegalAccessException {
        if (value == null) {
            return "null";
        }
        StringBuilder b = new StringBuilder(value.getClass().getName()).append(' ');
        if (value instanceof byte[] bytes) {
            return b.append(HexFormat.of().formatHex(bytes)).toString();
        }
        if (value instanceof List<?> list) {
            for (Object e : list) {
                b.append(deep(e)).append(", ");
            }
            return b.append("]").toString();
        }
        if (value instanceof Map<?, ?> map) {
            for (Map.Entry<?, ?> e : map.entrySet()) {
                b.append(e.getKey()).append('=').append(deep(e.getValue())).append(", ");
            }
            return b.append("}").toString();
        }
        if (value instanceof Order || value instanceof Declared) {
            for (java.lang.reflect.Field f : value.getClass().getFields()) {
                b.append(f.getName()).append('=').append(deep(f.get(value))).append(", ");
            }
            return b.append(")").toString();
        }
        return b.append(value).toString();
    }

    private static void read() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        int lines = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] parts = line.split("\t");
            Object want = values().get(parts[1]);
            Codec codec = codec(parts[0], want);
            String came = deep(Wire.decode(codec, HexFormat.of().parseHex(parts[2])));
            if (!came.equals(deep(want))) {
                throw new AssertionError(parts[0] + " " + parts[1] + ": read " + came + ", want " + deep(want));
            }
            lines++;
        }
        System.out.println("# " + lines + " read");
    }

    private Forms() {
    }
}
