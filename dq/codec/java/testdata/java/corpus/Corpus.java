package corpus;

import java.io.InputStream;
import java.io.ObjectStreamClass;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import org.redisson.client.codec.Codec;

/**
 * Writes messages of the classes that the resource acme/classes lists, as the codecs of the Redisson on the class
 * path do, or reads the bytes of messages. Arguments: write, seed, count, codec... or read, seed.
 *
 * <p>write prints "class", name, serialVersionUID of each class, and of each message "dto", codec, number, class,
 * description, and its bytes in hexadecimal or "-" and why Redisson itself cannot write or read it. read takes lines of
 * codec, number and bytes, and prints codec, number, and "ok" or what it has read.
 */
public final class Corpus {

    private final List<Class<?>> classes = new ArrayList<>();
    private final List<Class<?>> messages = new ArrayList<>();
    private final Map<Class<?>, List<Class<?>>> subclasses = new HashMap<>();
    private final Map<String, Codec> codecs = new HashMap<>();
    private final long seed;

    /** Each line of acme/classes is a class, and "message" behind one that is sent itself. */
    Corpus(long seed) throws Exception {
        this.seed = seed;
        try (InputStream in = Corpus.class.getResourceAsStream("/acme/classes")) {
            for (String line : new String(in.readAllBytes(), StandardCharsets.UTF_8).split("\n")) {
                String[] words = line.split(" ");
                Class<?> type = Class.forName(words[0]);
                classes.add(type);
                if (words.length > 1) {
                    messages.add(type);
                }
                for (Class<?> implemented : type.getInterfaces()) {
                    subclasses.computeIfAbsent(implemented, key -> new ArrayList<>()).add(type);
                }
            }
        }
    }

    Object message(int number) throws ReflectiveOperationException {
        Class<?> type = messages.get(number % messages.size());
        return new Filler(subclasses, seed * 1_000_003 + number).object(type, Map.of(), 0);
    }

    Codec codec(String name, Class<?> of) throws ReflectiveOperationException {
        String key = name.equals("typed-json") ? name + of : name;
        if (!codecs.containsKey(key)) {
            codecs.put(key, Wire.codec(name, of));
        }
        return codecs.get(key);
    }

    private void write(int count, List<String> codecs) throws Exception {
        for (Class<?> type : classes) {
            ObjectStreamClass description = ObjectStreamClass.lookup(type);
            System.out.println(String.join("\t", "class", type.getName(), description == null ? "0" : "" + description.getSerialVersionUID()));
        }
        for (String name : codecs) {
            for (int i = 0; i < count; i++) {
                Object value = message(i);
                Codec codec = codec(name, value.getClass());
                if (codec == null) {
                    break; // this release has none
                }
                System.out.println(String.join("\t", "dto", name, "" + i, value.getClass().getName(), Describer.describe(value), bytes(codec, value)));
            }
        }
    }

    private static String bytes(Codec codec, Object value) {
        try {
            byte[] bytes = Wire.encode(codec, value);
            String back = Describer.describe(Wire.decode(codec, bytes));
            return back.equals(Describer.describe(value)) ? HexFormat.of().formatHex(bytes) : "-\treads " + back;
        } catch (Throwable e) {
            return "-\t" + oneLine(e);
        }
    }

    private static String oneLine(Throwable e) {
        String why = e.toString().replaceAll("\\s+", " ");
        return why.substring(0, Math.min(why.length(), 160));
    }

    private void read() throws Exception {
        Scanner lines = new Scanner(System.in, StandardCharsets.UTF_8);
        while (lines.hasNextLine()) {
            String[] parts = lines.nextLine().split("\t");
            Object want = message(Integer.parseInt(parts[1]));
            String got;
            try {
                got = Describer.describe(Wire.decode(codec(parts[0], want.getClass()), HexFormat.of().parseHex(parts[2])));
            } catch (Throwable e) {
                got = oneLine(e);
            }
            System.out.println(String.join("\t", parts[0], parts[1], got.equals(Describer.describe(want)) ? "ok" : got));
        }
    }

    public static void main(String[] args) throws Exception {
        Corpus corpus = new Corpus(Long.parseLong(args[1]));
        if (args[0].equals("read")) {
            corpus.read();
        } else {
            corpus.write(Integer.parseInt(args[2]), List.of(args).subList(3, args.length));
        }
        System.exit(0);
    }
}
