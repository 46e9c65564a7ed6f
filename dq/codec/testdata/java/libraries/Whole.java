package demo;

import java.io.Serializable;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.Hashtable;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Scanner;
import java.util.Set;
import java.util.Stack;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.redisson.client.codec.Codec;

/**
 * What the codecs of a Redisson make of whole values: collections of each class where nothing declares them, elements
 * that are null, and objects with methods that Jackson takes for properties. A line has the codec, the value's name, the
 * bytes, and what Redisson reads from them: "=" for the same classes and values. With "read" behind it decodes such lines
 * from stdin, and tells of each what it reads.
 */
public final class Whole {

    public enum Color {
        RED, GREEN, BLUE
    }

    /** Elements that are references. */
    public static class Nulls implements Serializable {
        private static final long serialVersionUID = 70L;
        public List<Long> longs;
        public Set<Integer> ints;
        public Map<String, Long> sizes;
        public List<Color> colors;
        public Map<Color, String> names;
        public String[] words;
        public Long[] boxed;
        public long[] plain;
        public List<List<Boolean>> nested;
        public List<Double> doubles;
        public String zz;
    }

    /** A field that is named as its method is. */
    public static class Flag implements Serializable {
        private static final long serialVersionUID = 71L;
        private boolean isActive;
        private Boolean isOld;
        private int count;

        public boolean isActive() {
            return isActive;
        }

        public Boolean getIsOld() {
            return isOld;
        }
    }

    /** As Lombok writes it. */
    public static class Lombok implements Serializable {
        private static final long serialVersionUID = 72L;
        private boolean active;
        private boolean URLSafe;
        private int count;

        public boolean isActive() {
            return active;
        }

        public boolean isURLSafe() {
            return URLSafe;
        }

        public int getTotal() {
            return 99;
        }
    }

    /** Methods that no field stands behind. */
    public static class Computed implements Serializable {
        private static final long serialVersionUID = 73L;
        private int count;

        public boolean isEmpty() {
            return count == 0;
        }

        public Boolean isFull() {
            return count > 9;
        }

        public String isText() {
            return "no";
        }

        public boolean is() {
            return true;
        }

        public boolean isolated() {
            return true;
        }

        public static boolean isStatic() {
            return true;
        }

        boolean isHidden() {
            return true;
        }

        protected boolean isProtected() {
            return true;
        }

        public boolean isOf(int n) {
            return true;
        }
    }

    public interface Named {
        default boolean isNamed() {
            return true;
        }
    }

    /** Inherited methods. */
    public static class Heir extends Flag implements Named {
        private static final long serialVersionUID = 74L;
        private boolean isX;
        private boolean isaURL;
        private boolean isURL;
        private transient boolean isGone;

        public boolean isX() {
            return isX;
        }

        public boolean isURL() {
            return isURL;
        }

        public boolean isaURL() {
            return isaURL;
        }

        public boolean isGone() {
            return isGone;
        }
    }

    public record Point(boolean isOn, int x) implements Serializable {
        public boolean isFar() {
            return x > 9;
        }
    }

    private static final Map<String, Object> VALUES = new LinkedHashMap<>();

    private static ArrayList<Object> list(Object... values) {
        return new ArrayList<>(Arrays.asList(values));
    }

    private static <M extends Map<Object, Object>> M fill(M map, Object... pairs) {
        for (int i = 0; i < pairs.length; i += 2) {
            map.put(pairs[i], pairs[i + 1]);
        }
        return map;
    }

    private static Nulls nulls(boolean some) {
        Nulls n = new Nulls();
        n.longs = new ArrayList<>(Arrays.asList(1L, some ? null : 0L, 300L));
        n.ints = new HashSet<>(Arrays.asList(some ? null : 0, 7));
        n.sizes = new HashMap<>();
        n.sizes.put("a", 5L);
        n.sizes.put("b", some ? null : 0L);
        n.colors = new ArrayList<>(Arrays.asList(Color.BLUE, some ? null : Color.RED));
        n.names = new HashMap<>();
        n.names.put(Color.GREEN, some ? null : new String(""));
        n.words = new String[] {"w", some ? null : new String("")};
        n.boxed = new Long[] {4L, some ? null : 0L};
        n.plain = new long[] {4, 0};
        n.nested = new ArrayList<>(Arrays.asList(new ArrayList<>(Arrays.asList(true, some ? null : false)), some ? null : new ArrayList<>()));
        n.doubles = new ArrayList<>(Arrays.asList(some ? null : 0d, 1.5));
        n.zz = "end";
        return n;
    }

    static {
        VALUES.put("nulls some", nulls(true));
        VALUES.put("nulls none", nulls(false));
        VALUES.put("nulls all", new Nulls());
        any("ArrayList", list("z", "a"));
        any("LinkedList", new LinkedList<>(list("z", 7L)));
        any("Arrays.asList", Arrays.asList(new Object[] {"z", "b"}));
        any("Arrays.asList of texts", Arrays.asList("z", "b", null));
        any("Arrays.asList of numbers", Arrays.asList(5L, 6L));
        any("List.of 0", List.of());
        any("List.of 1", List.of("z"));
        any("List.of 2", List.of("z", "a"));
        any("List.of 3", List.of("z", "a", 3));
        any("subList of List.of", List.of("z", "a", 3, 4).subList(1, 3));
        any("Stream.toList", list("z", null).stream().toList());
        any("Stream.toList without null", list("z", "a").stream().toList());
        any("emptyList", Collections.emptyList());
        any("singletonList", Collections.singletonList("z"));
        any("unmodifiableList", Collections.unmodifiableList(list("z", "a")));
        any("unmodifiableList linked", Collections.unmodifiableList(new LinkedList<>(list("z", "a"))));
        any("synchronizedList", Collections.synchronizedList(list("z", "a")));
        any("nCopies", Collections.nCopies(2, "z"));
        any("CopyOnWriteArrayList", new CopyOnWriteArrayList<>(list("z", "a")));
        any("ArrayDeque", new ArrayDeque<>(list("z", "a")));
        any("Vector", new Vector<>(list("z", "a")));
        Stack<Object> stack = new Stack<>();
        stack.addAll(list("z", "a"));
        any("Stack", stack);
        any("HashSet", new HashSet<>(Set.of("z")));
        any("HashSet filled", filled(new HashSet<>(), "q", "a", "b"));
        any("HashSet of a capacity", filled(new HashSet<>(2), "q", "a", "b"));
        any("HashSet of a load", filled(new HashSet<>(16, 0.5f), "q", "a", "b"));
        any("LinkedHashSet", new LinkedHashSet<>(list("z", "a")));
        any("TreeSet", new TreeSet<>(list("z", "a")));
        TreeSet<Object> down = new TreeSet<>(down());
        down.addAll(list("a", "z"));
        any("TreeSet downwards", down);
        any("Set.of 0", Set.of());
        any("Set.of 1", Set.of("z"));
        any("Set.of 2", Set.of("z", "a"));
        any("Set.of 3", Set.of("z", "a", "b"));
        any("emptySet", Collections.emptySet());
        any("singleton", Collections.singleton("z"));
        any("unmodifiableSet", Collections.unmodifiableSet(new TreeSet<>(list("z", "a"))));
        any("EnumSet", EnumSet.of(Color.RED, Color.BLUE));
        any("HashMap", fill(new HashMap<>(), "z", 1, "a", 2L));
        any("HashMap of one bucket", fill(new HashMap<>(), "BB", 1, "Aa", 2));
        any("HashMap of a capacity", fill(new HashMap<>(1024), "hello", 1, "world", 2, "again", 3, "x", 4));
        any("HashMap of a load", fill(new HashMap<>(16, 0.5f), "z", 1));
        any("HashMap of numbers", fill(new HashMap<>(), 17, "b", 1, "a"));
        any("LinkedHashMap", fill(new LinkedHashMap<>(), "z", 1, "a", 2));
        any("LinkedHashMap by access", fill(new LinkedHashMap<>(16, 0.75f, true), "z", 1, "a", 2));
        any("TreeMap", fill(new TreeMap<>(), "z", 1, "a", 2));
        any("TreeMap downwards", fill(new TreeMap<>(down()), "a", 1, "z", 2));
        any("Map.of 0", Map.of());
        any("Map.of 1", Map.of("z", 1));
        any("Map.of 2", Map.of("z", 1, "a", 2));
        any("emptyMap", Collections.emptyMap());
        any("singletonMap", Collections.singletonMap("z", 1));
        any("unmodifiableMap", Collections.unmodifiableMap(fill(new LinkedHashMap<>(), "z", 1, "a", 2)));
        any("ConcurrentHashMap", fill(new ConcurrentHashMap<>(), "z", 1, "a", 2));
        any("Hashtable", fill(new Hashtable<>(), "z", 1, "a", 2));
        any("EnumMap", new EnumMap<>(Map.of(Color.RED, 1)));
        any("nested", fill(new LinkedHashMap<>(), "z", new LinkedList<>(list(new TreeSet<>(list("y", "x")), List.of(1, 2))), "c", fill(new TreeMap<>(), "k", Arrays.asList(new Object[] {1L}))));
        for (boolean on : new boolean[] {true, false}) {
            Flag flag = new Flag();
            flag.isActive = on;
            flag.isOld = on ? true : null;
            VALUES.put("is Flag " + on, flag);
            Lombok lombok = new Lombok();
            lombok.active = on;
            lombok.URLSafe = on;
            VALUES.put("is Lombok " + on, lombok);
            Computed computed = new Computed();
            computed.count = on ? 1 : 0;
            VALUES.put("is Computed " + on, computed);
            Heir heir = new Heir();
            heir.isX = on;
            heir.isaURL = !on;
            heir.isURL = on;
            heir.isGone = on;
            VALUES.put("is Heir " + on, heir);
            VALUES.put("is Point " + on, new Point(on, 3));
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Comparator<Object> down() {
        return (Comparator) Comparator.reverseOrder();
    }

    private static HashSet<Object> filled(HashSet<Object> set, Object... values) {
        set.addAll(List.of(values));
        return set;
    }

    private static void any(String name, Object value) {
        VALUES.put("any " + name, value);
    }

    /** The classes and what is held, as far as equals tells them apart. */
    private static String shape(Object value) throws Exception {
        if (value instanceof Collection<?> all) {
            StringBuilder text = new StringBuilder(all.getClass().getName() + "[");
            for (Object one : all) {
                text.append(shape(one)).append(", ");
            }
            return text + "]";
        }
        if (value instanceof Map<?, ?> map) {
            StringBuilder text = new StringBuilder(map.getClass().getName() + "{");
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                text.append(shape(entry.getKey())).append("=").append(shape(entry.getValue())).append(", ");
            }
            return text + "}";
        }
        if (value instanceof Object[] array) {
            return shape(Arrays.asList(array));
        }
        if (value instanceof long[] array) {
            return Arrays.toString(array);
        }
        if (value != null && value.getClass().getName().startsWith("demo.") && !(value instanceof Color)) {
            StringBuilder text = new StringBuilder(value.getClass().getName() + "(");
            for (Class<?> type = value.getClass(); type != Object.class && type != Record.class; type = type.getSuperclass()) {
                for (java.lang.reflect.Field field : type.getDeclaredFields()) {
                    if ((field.getModifiers() & (java.lang.reflect.Modifier.STATIC | java.lang.reflect.Modifier.TRANSIENT)) == 0) {
                        field.setAccessible(true);
                        text.append(field.getName()).append("=").append(shape(field.get(value))).append(", ");
                    }
                }
            }
            return text + ")";
        }
        return value == null ? "null" : value.getClass().getSimpleName() + " " + value;
    }

    private static String oneLine(Object text) {
        String line = String.valueOf(text).replaceAll("[\\s\\x00]+", " ");
        return line.substring(0, Math.min(line.length(), 300));
    }

    private static String read(Codec codec, byte[] bytes, Object want) {
        try {
            String got = shape(Wire.decode(codec, bytes));
            return Objects.equals(got, shape(want)) ? "=" : oneLine(got);
        } catch (Throwable e) {
            return "fails: " + oneLine(e);
        }
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("read")) {
            Scanner lines = new Scanner(System.in, java.nio.charset.StandardCharsets.UTF_8);
            while (lines.hasNextLine()) {
                String[] parts = lines.nextLine().split("\t");
                Object value = VALUES.get(parts[1]);
                System.out.println(parts[0] + "\t" + parts[1] + "\t" + read(Wire.codec(parts[0], value.getClass()), HexFormat.of().parseHex(parts[2]), value));
            }
            System.exit(0);
        }
        for (String name : List.of("kryo5", "marshalling", "serialization", "json", "typed-json", "json3", "typed-json3")) {
            for (Map.Entry<String, Object> entry : VALUES.entrySet()) {
                Codec codec = Wire.codec(name, entry.getValue().getClass());
                if (codec == null) {
                    continue; // this release has none
                }
                try {
                    byte[] bytes = Wire.encode(codec, entry.getValue());
                    System.out.println(name + "\t" + entry.getKey() + "\t" + HexFormat.of().formatHex(bytes) + "\t" + read(codec, bytes, entry.getValue()));
                } catch (Throwable e) {
                    System.out.println(name + "\t" + entry.getKey() + "\t-\tfails: " + oneLine(e));
                }
            }
        }
        System.exit(0);
    }

    private Whole() {
    }
}
