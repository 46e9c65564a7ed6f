package corpus;

import java.io.Serializable;
import java.util.HexFormat;
import org.redisson.client.codec.Codec;

/** The RedisDataEntity of document 000. Reads one in a codec from hexadecimal digits, and prints it and its bytes. */
public final class Entity implements Serializable {

    private static final long serialVersionUID = 1;

    private Object data;
    private Long expire;
    private Long time;

    public static void main(String[] args) throws Exception {
        Codec codec = Wire.codec(args[0], Entity.class);
        Entity read = (Entity) Wire.decode(codec, HexFormat.of().parseHex(args[1]));
        System.out.printf("%s %d %d %s", read.data, read.expire, read.time, HexFormat.of().formatHex(Wire.encode(codec, read)));
        System.exit(0);
    }
}
