import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.stream.IntStream;

/** The partitions of a dq.Partitioned: what they are called, and which one a key belongs to. Copy it. */
public final class Partitions {
    private Partitions() {}

    /** The names of the first n partitions, as dq.Partitions has them. */
    public static List<String> names(String name, int n) {
        return IntStream.range(0, n).mapToObj(i -> name(name, i)).toList();
    }

    /** NAME-i-k, with the first k whose slot is at most 32 from (14736 + 6258 i) mod 16384. */
    public static String name(String name, int i) {
        for (int k = 0; k < 2000; k++) {
            String candidate = name + "-" + i + "-" + k;
            if (Math.floorMod(slot(candidate) - 14736 - 6258 * i + 32, 16384) <= 64) {
                return candidate;
            }
        }
        return name + "-" + i + "-0";
    }

    /** The partition whose SHA-256 of its name, a zero byte and the key is the greatest. */
    public static String of(List<String> names, String key) throws NoSuchAlgorithmException {
        MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
        String best = null;
        byte[] most = {};
        for (String name : names) {
            byte[] sum = sha256.digest((name + "\0" + key).getBytes(StandardCharsets.UTF_8));
            if (Arrays.compareUnsigned(sum, most) > 0) {
                best = name;
                most = sum;
            }
        }
        return best;
    }

    /** The slot of a key in a Redis Cluster, as RedissonClient.getKeys().getSlot(key) tells it. */
    static int slot(String key) {
        int open = key.indexOf('{');
        int close = key.indexOf('}', open + 1);
        if (open >= 0 && close > open + 1) {
            key = key.substring(open + 1, close);
        }
        int crc = 0;
        for (byte b : key.getBytes(StandardCharsets.UTF_8)) {
            crc ^= (b & 0xff) << 8;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc & 0x8000) == 0 ? crc << 1 : crc << 1 ^ 0x1021;
            }
        }
        return crc & 0x3fff;
    }

    /** Prints the names of n partitions, and of each key its partition: java Partitions.java orders 6 bob */
    public static void main(String[] args) throws NoSuchAlgorithmException {
        List<String> names = names(args[0], Integer.parseInt(args[1]));
        names.forEach(System.out::println);
        for (String key : List.of(args).subList(2, args.length)) {
            System.out.println(of(names, key));
        }
    }
}
