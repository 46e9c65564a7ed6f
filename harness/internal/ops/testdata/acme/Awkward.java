package acme;

import io.netty.buffer.ByteBuf;
import java.io.*;
import java.math.*;
import java.net.URI;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.redisson.client.codec.Codec;

/** Values of an application that a port of the codecs finds hard. The program writes them, a name and Base64 a line. */
public final class Awkward {
    public enum State {
        NEW { @Override String label() { return "n"; } }, PAID;
        String label() { return name(); }
    }

    public interface Shape extends Serializable { }

    public static final class Circle implements Shape {
        double radius;
        String name;
        Circle() { }
        Circle(double radius, String name) { this.radius = radius; this.name = name; }
    }

    public static class Page<T> implements Serializable {
        T first;
        List<T> items;
        Page() { }
        Page(T first, List<T> items) { this.first = first; this.items = items; }
    }

    public static class Base<I extends Serializable> implements Serializable {
        private static final long serialVersionUID = 1;
        protected I id;
        protected Date created = new Date(1700000000123L);
    }

    public static class Item implements Serializable {
        private static final long serialVersionUID = 2;
        String sku;
        int count;
        BigDecimal price;
        Item() { }
        Item(String sku, int count, String price) { this.sku = sku; this.count = count; this.price = new BigDecimal(price); }
    }

    public static class Order extends Base<Long> {
        private static final long serialVersionUID = 3;
        String name;
        List<Item> items = new ArrayList<>();
        Map<String, Integer> stock = new HashMap<>();
        State state = State.NEW;
        Shape shape;
        transient String cache = "gone";
        Order() { }
        Order(long id) { this.id = id; name = "order " + id; items.add(new Item("a", 2, "12.50")); stock.put("a", 1); }
    }

    public static class Node implements Serializable {
        String name;
        Node next;
        Node() { }
        Node(String name, Node next) { this.name = name; this.next = next; }
    }

    public static class Holder implements Serializable {
        Object of;
        Holder() { }
        Holder(Object of) { this.of = of; }
    }

    public static class Tags extends ArrayList<String> {
        String colour = "red";
    }

    public static class Custom implements Serializable {
        private transient int secret = 7;
        Custom() { }
        Custom(int secret) { this.secret = secret; }
        private void writeObject(ObjectOutputStream out) throws IOException { out.defaultWriteObject(); out.writeInt(secret); }
        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException { in.defaultReadObject(); secret = in.readInt(); }
    }

    public static class Outside implements Externalizable {
        int n;
        public Outside() { }
        Outside(int n) { this.n = n; }
        @Override public void writeExternal(ObjectOutput out) throws IOException { out.writeInt(n); }
        @Override public void readExternal(ObjectInput in) throws IOException { n = in.readInt(); }
    }

    public static class Argument implements Serializable {
        final String text;
        Argument(String text) { this.text = text; }
    }

    public static class Failed extends RuntimeException {
        final int code;
        Failed(String message, int code) { super(message, new IOException("cause")); this.code = code; }
    }

    /** Fields for which there are few Go types, or none. */
    public static class Hard implements Serializable {
        int x;
        Integer X;
        int _under;
        int[][] grid;
        Shape[] shapes;
        State[] states;
        OptionalInt number;
        EnumMap<State, String> counts;
        Map<BigInteger, String> byNumber;
        Map<Item, String> byItem;
        Map<List<Long>, String> byList;
        List<Set<Long>> sets;
        List<long[]> arrays;
        List<OptionalInt> numbers;
        List<Iterable<Long>> items;
        Optional<List<Long>> list;
        Tags tags;
        Custom custom;
        Year year;
        Object[] any;
        Page<List<Long>> page;
        Hard nested;
    }

    static Map<String, Object> values() {
        Map<String, Object> all = new LinkedHashMap<>();
        Order order = new Order(7);
        order.shape = new Circle(1.5, "c");
        all.put("order", order);
        all.put("final class", new Circle(2, null));
        all.put("generic class", new Page<>(new Item("b", 1, "1.0"), List.of(new Item("c", 2, "2.00"))));
        all.put("list of orders", new ArrayList<>(List.of(new Order(1), new Order(2))));
        all.put("enum", State.PAID);
        all.put("enum with a body", State.NEW);
        all.put("TimeUnit", TimeUnit.SECONDS);
        all.put("DayOfWeek", DayOfWeek.MONDAY);
        all.put("EnumSet", EnumSet.of(DayOfWeek.FRIDAY, DayOfWeek.SUNDAY));
        all.put("EnumMap", new EnumMap<>(Map.of(State.PAID, "x")));
        all.put("ConcurrentHashMap", new ConcurrentHashMap<>(Map.of("a", 1L)));
        all.put("TreeMap", new TreeMap<>(Map.of("b", 2, "a", 1)));
        TreeMap<String, Integer> reverse = new TreeMap<>(Collections.reverseOrder());
        reverse.putAll(Map.of("a", 1, "b", 2));
        all.put("TreeMap with a comparator", reverse);
        all.put("TreeSet", new TreeSet<>(Set.of(3, 1, 2)));
        all.put("HashSet of UUID", new HashSet<>(Set.of(new UUID(1, 2), new UUID(3, 4))));
        all.put("ArrayDeque", new ArrayDeque<>(List.of(1, 2)));
        all.put("PriorityQueue", new PriorityQueue<>(List.of(3, 1, 2)));
        all.put("CopyOnWriteArrayList", new CopyOnWriteArrayList<>(List.of("x")));
        all.put("Arrays.asList", Arrays.asList(1, null, "x"));
        all.put("List.of", List.of(1, 2, 3));
        all.put("Map.of", Map.of("k", new Item("d", 4, "4")));
        all.put("unmodifiableList", Collections.unmodifiableList(new ArrayList<>(List.of(1))));
        all.put("singletonList", Collections.singletonList("one"));
        all.put("emptyMap", Collections.emptyMap());
        all.put("int[][]", new int[][] {{1}, {2, 3}});
        all.put("String[]", new String[] {"a", null});
        all.put("Object[]", new Object[] {1, "x", new Item("e", 5, "5")});
        all.put("char[]", new char[] {'a', 'é'});
        all.put("AtomicInteger", new AtomicInteger(4));
        all.put("AtomicLong", new AtomicLong(5));
        all.put("AtomicReference", new AtomicReference<>("r"));
        all.put("BigInteger", new BigInteger("123456789012345678901234567890"));
        all.put("BigDecimal", new BigDecimal("1.50"));
        all.put("ZoneId", ZoneId.of("Europe/Berlin"));
        all.put("ZonedDateTime", ZonedDateTime.of(2026, 1, 2, 3, 4, 5, 6, ZoneId.of("Asia/Tokyo")));
        all.put("OffsetDateTime", OffsetDateTime.of(2026, 1, 2, 3, 4, 5, 0, ZoneOffset.ofHours(2)));
        all.put("Period", Period.of(1, 2, 3));
        all.put("Timestamp with nanoseconds", java.sql.Timestamp.valueOf("2026-01-02 03:04:05.123456789"));
        all.put("sql.Date", new java.sql.Date(1700000000000L));
        all.put("Locale", Locale.forLanguageTag("de-CH"));
        all.put("Currency", Currency.getInstance("EUR"));
        all.put("URI", URI.create("http://127.0.0.1/x?y"));
        all.put("StringBuilder", new StringBuilder("sb"));
        all.put("BitSet", BitSet.valueOf(new long[] {5}));
        all.put("Pattern", java.util.regex.Pattern.compile("a+", java.util.regex.Pattern.CASE_INSENSITIVE));
        all.put("exception", new IllegalStateException("boom"));
        all.put("own exception", new Failed("bad", 3));
        all.put("own list", tags());
        all.put("writeObject", new Custom(8));
        all.put("File", new File("f"));
        all.put("Externalizable", new Outside(9));
        all.put("no default constructor", new Argument("x"));
        Node self = new Node("self", null);
        self.next = self;
        all.put("cycle", self);
        Item shared = new Item("g", 7, "7");
        all.put("shared twice", new ArrayList<>(List.of(shared, shared)));
        all.put("Object in a field", new Holder(new int[] {1, 2}));
        all.put("nested maps", new HashMap<>(Map.of("a", new HashMap<>(Map.of(1, new TreeMap<>(Map.of("x", List.of())))))));
        return all;
    }

    private static Tags tags() {
        Tags tags = new Tags();
        tags.add("t");
        return tags;
    }

    public static void main(String[] args) throws Exception {
        Codec codec = (Codec) Class.forName("org.redisson." + args[0]).getConstructor().newInstance();
        for (Map.Entry<String, Object> value : values().entrySet()) {
            String bytes;
            try {
                ByteBuf buffer = codec.getValueEncoder().encode(value.getValue());
                byte[] data = new byte[buffer.readableBytes()];
                buffer.readBytes(data);
                bytes = Base64.getEncoder().encodeToString(data);
            } catch (Throwable e) {
                bytes = "-" + e;
            }
            System.out.println(value.getKey() + "\t" + bytes.replace('\n', ' '));
        }
    }
}
