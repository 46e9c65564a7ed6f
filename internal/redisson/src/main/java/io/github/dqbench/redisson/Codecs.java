package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.IOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.redisson.client.codec.Codec;
import org.redisson.client.handler.State;
import org.redisson.config.Config;

/** Codecs by the names of docs/protocol.md; most exist in some releases only. */
final class Codecs {

    private static final Map<String, String> CLASSES = new LinkedHashMap<>();

    static {
        CLASSES.put("string", "org.redisson.client.codec.StringCodec");
        CLASSES.put("bytes", "org.redisson.client.codec.ByteArrayCodec");
        CLASSES.put("long", "org.redisson.client.codec.LongCodec");
        CLASSES.put("json", "org.redisson.codec.JsonJacksonCodec");
        CLASSES.put("typed-json", "org.redisson.codec.TypedJsonJacksonCodec");
        CLASSES.put("kryo5", "org.redisson.codec.Kryo5Codec");
        CLASSES.put("fst", "org.redisson.codec.FstCodec");
        CLASSES.put("marshalling", "org.redisson.codec.MarshallingCodec");
        CLASSES.put("serialization", "org.redisson.codec.SerializationCodec");
    }

    private Codecs() {
    }

    /** The codec of that name; null for "default", which leaves the choice to the release. */
    static Codec named(String name, String valueType) throws Throwable {
        if (name.equals("default")) {
            return null;
        }
        String className = CLASSES.get(name);
        if (className == null) {
            throw new IllegalArgumentException("codec \"" + name + "\", want default or one of " + CLASSES.keySet());
        }
        try {
            Class<?> codec = Class.forName(className);
            if (name.equals("typed-json")) {
                return (Codec) codec.getConstructor(Class.class).newInstance(Values.javaClass(valueType));
            }
            return (Codec) codec.getConstructor().newInstance();
        } catch (ClassNotFoundException | NoSuchMethodException | NoClassDefFoundError e) {
            throw new Unsupported("codec " + name + " (" + className + ")");
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }

    /** The names that work at this release, the default included. */
    static List<String> available() {
        List<String> names = new ArrayList<>(List.of("default"));
        for (String name : CLASSES.keySet()) {
            try {
                named(name, "string");
            } catch (Throwable e) {
                continue;
            }
            names.add(name);
        }
        return names;
    }

    static void register(Ops ops) {
        ops.add("codec.encode", call -> {
            ObjectNode result = Protocol.JSON.createObjectNode();
            result.put("bytes", Base64.getEncoder().encodeToString(encode(codecOf(call), call.value("value"))));
            return result;
        });
        ops.add("codec.decode", call -> {
            ByteBuf bytes = Unpooled.wrappedBuffer(Base64.getDecoder().decode(call.text("bytes")));
            return Values.toJson(codecOf(call).getValueDecoder().decode(bytes, freshState()));
        });
    }

    private static Codec codecOf(Call call) throws Throwable {
        Codec codec = named(call.text("codec", "default"), call.text("valueType", "pojo"));
        return codec != null ? codec : releaseDefault();
    }

    /** Redisson chooses its default while it copies the configuration for a new client. */
    private static Codec releaseDefault() {
        Config config = new Config();
        Codec copied = new Config(config).getCodec();
        return copied != null ? copied : config.getCodec();
    }

    /** To 3.10.0 the constructor takes a flag. */
    private static State freshState() throws ReflectiveOperationException {
        Constructor<?> constructor = State.class.getConstructors()[0];
        return (State) (constructor.getParameterCount() == 0
                ? constructor.newInstance()
                : constructor.newInstance(false));
    }

    private static byte[] encode(Codec codec, Object value) throws IOException {
        Object encoded = codec.getValueEncoder().encode(value);
        if (encoded instanceof byte[] bytes) {
            return bytes;
        }
        ByteBuf buffer = (ByteBuf) encoded;
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes);
        buffer.release();
        return bytes;
    }
}
