package corpus;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;
import java.util.Map;
import org.redisson.client.codec.Codec;
import org.redisson.client.handler.State;

/** The codecs of the Redisson on the class path, by the names that dq has for them. */
public final class Wire {

    private static final Map<String, String> CLASSES = Map.of(
        "json", "JsonJacksonCodec", "typed-json", "TypedJsonJacksonCodec",
        "json3", "JsonJackson3Codec", "typed-json3", "TypedJsonJackson3Codec",
        "kryo5", "Kryo5Codec", "marshalling", "MarshallingCodec", "serialization", "SerializationCodec");

    /** The codec for values of a type, which only typed-json and typed-json3 ask for; null where the release has none. */
    public static Codec codec(String name, Class<?> of) throws ReflectiveOperationException {
        try {
            Class<?> codec = Class.forName("org.redisson.codec." + CLASSES.get(name));
            if (name.startsWith("typed-json")) {
                return (Codec) codec.getConstructor(Class.class).newInstance(of);
            }
            return (Codec) codec.getConstructor().newInstance();
        } catch (ClassNotFoundException | NoClassDefFoundError | InvocationTargetException e) {
            return null;
        }
    }

    public static byte[] encode(Codec codec, Object value) throws Exception {
        ByteBuf buffer = (ByteBuf) codec.getValueEncoder().encode(value);
        byte[] bytes = new byte[buffer.readableBytes()];
        buffer.readBytes(bytes);
        buffer.release();
        return bytes;
    }

    public static Object decode(Codec codec, byte[] bytes) throws Exception {
        Constructor<?> constructor = State.class.getConstructors()[0]; // takes a flag to 3.10.0
        State state = (State) (constructor.getParameterCount() == 0 ? constructor.newInstance() : constructor.newInstance(false));
        return codec.getValueDecoder().decode(Unpooled.wrappedBuffer(bytes), state);
    }

    private Wire() {
    }
}
