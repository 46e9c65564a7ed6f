package demo;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.redisson.client.codec.Codec;

/**
 * What the codecs of a Redisson make of objects whose super class has a type parameter: with the argument that the class
 * names, that of a class between them, or none. A line has the codec, the value's name and the bytes.
 */
public final class Generic {

    public enum Color {
        RED, GREEN
    }

    public static final class Item implements Serializable {
        private static final long serialVersionUID = 1L;
        public int q;

        public Item() {
        }

        Item(int q) {
            this.q = q;
        }
    }

    public static class Base<I> implements Serializable {
        private static final long serialVersionUID = 2L;
        public I id;
        public List<I> more;
        public String name;
    }

    public static class OfLong extends Base<Long> {
        private static final long serialVersionUID = 3L;
        public int n;
    }

    public static class BelowOfLong extends OfLong {
        private static final long serialVersionUID = 4L;
        public int m;
    }

    public static class OfItem extends Base<Item> {
        private static final long serialVersionUID = 5L;
    }

    public static class OfColor extends Base<Color> {
        private static final long serialVersionUID = 6L;
    }

    public static class OfLongs extends Base<List<Long>> {
        private static final long serialVersionUID = 7L;
    }

    @SuppressWarnings("rawtypes")
    public static class Raw extends Base {
        private static final long serialVersionUID = 8L;
    }

    public static class Between<T> extends Base<T> {
        private static final long serialVersionUID = 9L;
        public T t;
    }

    public static class BelowBetween extends Between<Long> {
        private static final long serialVersionUID = 10L;
    }

    public static class Fixed<T> extends Base<Long> {
        private static final long serialVersionUID = 11L;
        public T t;
    }

    public static class BelowFixed extends Fixed<String> {
        private static final long serialVersionUID = 12L;
    }

    /** Its field is of a generic class, too. */
    public static class Outer<T> implements Serializable {
        private static final long serialVersionUID = 13L;
        public Base<T> in;
    }

    public static class OuterOfLong extends Outer<Long> {
        private static final long serialVersionUID = 14L;
    }

    public static class BelowOuterOfLong extends OuterOfLong {
        private static final long serialVersionUID = 15L;
    }

    public static class Holder implements Serializable {
        private static final long serialVersionUID = 16L;
        public OfLong of;
        public Base<Long> base;
        public Base<Date> dates;
        public Between<Long> between;
        public Fixed<String> fixed;
        public List<Between<BigDecimal>> all;
        public Outer<Long> outer;
        public Object any;
    }

    /** No class extends it, so that Kryo5 does not name it. */
    public static final class Box<T> implements Serializable {
        private static final long serialVersionUID = 17L;
        public T v;
        public List<T> all;
        public Map<String, T> byName;
        public Object any;
    }

    public static class HasBox<T> implements Serializable {
        private static final long serialVersionUID = 18L;
        public Box<T> box;
        public List<Box<T>> boxes;
        public T t;
    }

    public static class Boxes implements Serializable {
        private static final long serialVersionUID = 19L;
        public Box<Long> box;
        public Box<Item> items;
        public List<Box<String>> all;
        public Map<String, Box<Long>> byName;
        public Base<Box<Long>> base;
        @SuppressWarnings("rawtypes")
        public Box raw;
        public HasBox<Long> has;
        public Object any;
    }

    /** Kryo5 does not know the type arguments of what is in arrays. */
    public static class Arrays implements Serializable {
        private static final long serialVersionUID = 20L;
        public Base<Long>[] bases;
        public Box<Long>[] boxes;
        public List<Long>[] lists;
    }

    /** Of its components Kryo5 knows no type arguments. */
    public record Parts(Box<String> text, Box<Long> number, Box<Integer> count, Box<Color> color, Box<Item> item, Base<Long> base,
            Box<Long>[] boxes, List<Box<Long>> all, int n) implements Serializable {
    }

    public record Pair<T>(T first, Box<T> box) implements Serializable {
    }

    public static class Records implements Serializable {
        private static final long serialVersionUID = 21L;
        public Parts parts;
        public List<Parts> all;
        public Pair<Long> pair;
        public Object any;
        public int n;
    }

    /** Its type parameter has a bound. */
    public static class Entity<I extends Serializable> implements Serializable {
        private static final long serialVersionUID = 22L;
        public I id;
        public List<I> refs;
        public Map<String, I> by;
        public int version;
    }

    public static class OrderOfLong extends Entity<Long> {
        private static final long serialVersionUID = 23L;
        public String name;
    }

    public static class OrderOfInteger extends Entity<Integer> {
        private static final long serialVersionUID = 24L;
    }

    public static class OrderOfItem extends Entity<Item> {
        private static final long serialVersionUID = 25L;
    }

    public static class OrderOfColor extends Entity<Color> {
        private static final long serialVersionUID = 26L;
    }

    public static class OrderOfOrder extends Entity<OrderOfLong> {
        private static final long serialVersionUID = 27L;
    }

    public static class Mid<T extends Comparable<T> & Serializable> extends Entity<T> {
        private static final long serialVersionUID = 28L;
        public T low;
    }

    public static class Low extends Mid<Long> {
        private static final long serialVersionUID = 29L;
    }

    public static class Counted<N extends Number, B extends OrderOfLong> implements Serializable {
        private static final long serialVersionUID = 30L;
        public N n;
        public B b;
    }

    public static class Audited<U, I extends Serializable> extends Entity<I> {
        private static final long serialVersionUID = 31L;
        public U user;
    }

    public static class Invoice extends Audited<String, Long> {
        private static final long serialVersionUID = 32L;
        public String no;
    }

    public static class Two<A, B> implements Serializable {
        private static final long serialVersionUID = 33L;
        public A a;
        public B b;
        public List<B> all;
    }

    public static class Swapped<X, Y> extends Two<Y, X> {
        private static final long serialVersionUID = 34L;
        public X x;
    }

    public static class SwappedOfLong extends Swapped<Long, String> {
        private static final long serialVersionUID = 35L;
    }

    public static class Half<X> extends Two<X, Item> {
        private static final long serialVersionUID = 37L;
        public X x;
    }

    public static class HalfOfLong extends Half<Long> {
        private static final long serialVersionUID = 38L;
    }

    public static class HasTwo<T> implements Serializable {
        private static final long serialVersionUID = 39L;
        public Two<T, Item> two;
        public Two<Item, T> other;
        public Two<?, Item> wild;
        public Two<List<T>, T> list;
    }

    public static class HasTwoOfLong extends HasTwo<Long> {
        private static final long serialVersionUID = 40L;
    }

    public static class Entities implements Serializable {
        private static final long serialVersionUID = 36L;
        public OrderOfLong order;
        public Entity<Long> longs;
        public Entity<Integer> ints;
        public Entity<Item> items;
        public Two<Long, String> two;
        public Two<String, Item> other;
        public Swapped<Long, String> swapped;
        public Counted<Long, OrderOfLong> counted;
        public Object any;
        public List<Two<Long, Item>> all;
        public Half<Long> half;
        public HasTwo<Long> has;
    }

    private Generic() {
    }

    private static <T, B extends Base<T>> B base(B base, T first, T second) {
        base.id = first;
        base.more = new ArrayList<>(List.of(second));
        base.name = "name of it";
        if (base instanceof Between && second instanceof Long) { // one object in two places is another matter
            ((Between<T>) (Base<T>) base).t = second;
        }
        return base;
    }

    private static <F extends Fixed<String>> F fixed(F fixed) {
        fixed.t = "text";
        return base(fixed, 5L, 6L);
    }

    private static <O extends Outer<Long>> O outer(O outer) {
        outer.in = base(new Base<Long>(), 7L, 8L);
        return outer;
    }

    private static <T> Box<T> box(T v, T first, T second) {
        Box<T> box = new Box<>();
        box.v = v;
        box.all = new ArrayList<>(List.of(first));
        box.byName = new HashMap<>();
        box.byName.put(new String("k"), second); // not one object with another
        return box;
    }

    private static <T> HasBox<T> has(T t, Box<T> one, Box<T> other) {
        HasBox<T> has = new HasBox<>();
        has.t = t;
        has.box = one;
        has.boxes = new ArrayList<>(List.of(other));
        return has;
    }

    private static <T> T with(T object, Consumer<T> fill) {
        fill.accept(object);
        return object;
    }

    private static Holder holder(Consumer<Holder> fill) {
        return with(new Holder(), fill);
    }

    private static Boxes boxes(Consumer<Boxes> fill) {
        return with(new Boxes(), fill);
    }

    private static <I extends Serializable, E extends Entity<I>> E entity(E entity, I id, I ref, I by) {
        entity.id = id;
        entity.refs = new ArrayList<>(List.of(ref));
        entity.by = new HashMap<>();
        entity.by.put(new String("k"), by);
        entity.version = 3;
        return entity;
    }

    private static <A, B, T extends Two<A, B>> T two(T two, A a, B b, B second) {
        two.a = a;
        two.b = b;
        two.all = new ArrayList<>(List.of(second));
        return two;
    }

    private static <H extends Half<Long>> H half(H half) {
        half.x = 30L;
        return two(half, 31L, new Item(32), new Item(33));
    }

    private static <H extends HasTwo<Long>> H hasTwo(H has) {
        has.two = two(new Two<>(), 40L, new Item(41), new Item(42));
        has.other = two(new Two<>(), new Item(43), 44L, 45L);
        has.wild = two(new Two<String, Item>(), "of a wildcard", new Item(46), new Item(47));
        has.list = two(new Two<>(), new ArrayList<>(List.of(48L)), 49L, 50L);
        return has;
    }

    private static Entities entities(Consumer<Entities> fill) {
        return with(new Entities(), fill);
    }

    private static OrderOfLong order(long id) {
        return entity(new OrderOfLong(), id, id + 1, id + 2);
    }

    private static Counted<Long, OrderOfLong> counted() {
        return with(new Counted<>(), c -> {
            c.n = 20L;
            c.b = order(21);
        });
    }

    private static Records records(Consumer<Records> fill) {
        return with(new Records(), fill);
    }

    @SuppressWarnings("unchecked")
    private static Parts parts() {
        return new Parts(box("a", "b", "c"), box(1L, 2L, 3L), box(1, 2, 3), box(Color.RED, Color.GREEN, Color.GREEN), box(new Item(1), new Item(2), new Item(3)),
                base(new Base<>(), 4L, 5L), new Box[]{box(6L, 7L, 8L)}, new ArrayList<>(List.of(box(9L, 10L, 11L))), 12);
    }

    private static Parts text() {
        return new Parts(box("order-1", "d", "e"), null, null, null, null, null, null, null, 13);
    }

    private static Arrays arrays(Consumer<Arrays> fill) {
        return with(new Arrays(), fill);
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Map<String, Object> values() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("OfLong", base(new OfLong(), 7L, 8L));
        values.put("OfLong null", new OfLong());
        values.put("BelowOfLong", base(new BelowOfLong(), 7L, 8L));
        values.put("OfItem", base(new OfItem(), new Item(1), new Item(2)));
        values.put("OfColor", base(new OfColor(), Color.RED, Color.GREEN));
        values.put("OfLongs", base(new OfLongs(), new ArrayList<>(List.of(1L)), new ArrayList<>(List.of(2L, 3L))));
        values.put("Raw", base((Base) new Raw(), 7L, "text"));
        values.put("Between", base(new Between<Long>(), 7L, 8L));
        values.put("Between Item", base(new Between<Item>(), new Item(1), new Item(2)));
        values.put("BelowBetween", base(new BelowBetween(), 7L, 8L));
        values.put("Fixed", fixed(new Fixed<String>()));
        values.put("BelowFixed", fixed(new BelowFixed()));
        values.put("Outer", outer(new Outer<Long>()));
        values.put("OuterOfLong", outer(new OuterOfLong()));
        values.put("BelowOuterOfLong", outer(new BelowOuterOfLong()));
        values.put("of OfLong", holder(h -> h.of = base(new OfLong(), 7L, 8L)));
        values.put("base Base", holder(h -> h.base = base(new Base<Long>(), 7L, 8L)));
        values.put("base OfLong", holder(h -> h.base = base(new OfLong(), 7L, 8L)));
        values.put("base Between", holder(h -> h.base = base(new Between<Long>(), 7L, 8L)));
        values.put("dates Base", holder(h -> h.dates = base(new Base<Date>(), new Date(1000), new Date(2000))));
        values.put("between Between", holder(h -> h.between = base(new Between<Long>(), 7L, 8L)));
        values.put("between BelowBetween", holder(h -> h.between = base(new BelowBetween(), 7L, 8L)));
        values.put("fixed Fixed", holder(h -> h.fixed = fixed(new Fixed<String>())));
        values.put("fixed BelowFixed", holder(h -> h.fixed = fixed(new BelowFixed())));
        values.put("all Between", holder(h -> h.all = new ArrayList<>(
                List.of(base(new Between<BigDecimal>(), new BigDecimal("1.5"), new BigDecimal("2.25"))))));
        values.put("outer Outer", holder(h -> h.outer = outer(new Outer<Long>())));
        values.put("any OfLong", holder(h -> h.any = base(new OfLong(), 7L, 8L)));
        values.put("any Between", holder(h -> h.any = base(new Between<Long>(), 7L, 8L)));
        values.put("box", boxes(b -> b.box = box(1L, 2L, 3L)));
        values.put("box null", boxes(b -> b.box = new Box<>()));
        values.put("items", boxes(b -> b.items = box(new Item(1), new Item(2), new Item(3))));
        values.put("all Box", boxes(b -> b.all = new ArrayList<>(List.of(box("a", "b", "c"), box("d", "e", "f")))));
        values.put("byName Box", boxes(b -> {
            b.byName = new HashMap<>();
            b.byName.put("k", box(1L, 2L, 3L));
        }));
        values.put("base Box", boxes(b -> b.base = base(new Base<>(), box(1L, 2L, 3L), box(4L, 5L, 6L))));
        values.put("raw Box", boxes(b -> b.raw = box(1L, 2L, 3L)));
        values.put("has Box", boxes(b -> b.has = has(1L, box(2L, 3L, 4L), box(5L, 6L, 7L))));
        values.put("any Box", boxes(b -> b.any = box(1L, 2L, 3L)));
        values.put("any HasBox", boxes(b -> b.any = has(1L, box(2L, 3L, 4L), box(5L, 6L, 7L))));
        values.put("Box in Box", boxes(b -> b.box = with(box(1L, 2L, 3L), of -> of.any = box(4L, 5L, 6L))));
        values.put("Base in Box", boxes(b -> b.box = with(box(1L, 2L, 3L), of -> of.any = base(new Base<Long>(), 4L, 5L))));
        values.put("HasBox", has(1L, box(2L, 3L, 4L), box(5L, 6L, 7L)));
        values.put("array of Base", arrays(a -> a.bases = new Base[]{base(new Base<>(), 1L, 2L), null}));
        values.put("array of Box", arrays(a -> a.boxes = new Box[]{box(1L, 2L, 3L), null}));
        values.put("array of List", arrays(a -> a.lists = new List[]{new ArrayList<>(List.of(1L))}));
        values.put("OrderOfLong", order(1));
        values.put("OrderOfLong null", new OrderOfLong());
        values.put("OrderOfInteger", entity(new OrderOfInteger(), 1, 2, 3));
        values.put("OrderOfItem", entity(new OrderOfItem(), new Item(1), new Item(2), new Item(3)));
        values.put("OrderOfColor", entity(new OrderOfColor(), Color.RED, Color.GREEN, Color.GREEN));
        values.put("OrderOfOrder", entity(new OrderOfOrder(), order(4), order(7), order(10)));
        values.put("Low", with(entity(new Low(), 1L, 2L, 3L), l -> l.low = 4L));
        values.put("Mid", with(entity(new Mid<Long>(), 1L, 2L, 3L), l -> l.low = 4L));
        values.put("Entity", entity(new Entity<Long>(), 1L, 2L, 3L));
        values.put("Entity of Integer", entity(new Entity<Integer>(), 1, 2, 3));
        values.put("Counted", counted());
        values.put("Invoice", with(entity(new Invoice(), 1L, 2L, 3L), i -> i.user = "a user"));
        values.put("Audited", with(entity(new Audited<String, Long>(), 1L, 2L, 3L), i -> i.user = "a user"));
        values.put("Two", two(new Two<>(), 1L, "text", "more"));
        values.put("Two Item", two(new Two<>(), "text", new Item(1), new Item(2)));
        values.put("Swapped", with(two(new Swapped<Long, String>(), "text", 2L, 3L), s -> s.x = 4L));
        values.put("SwappedOfLong", with(two(new SwappedOfLong(), "text", 2L, 3L), s -> s.x = 4L));
        values.put("order", entities(e -> e.order = order(1)));
        values.put("longs", entities(e -> e.longs = entity(new Entity<>(), 1L, 2L, 3L)));
        values.put("longs OrderOfLong", entities(e -> e.longs = order(1)));
        values.put("ints", entities(e -> e.ints = entity(new Entity<>(), 1, 2, 3)));
        values.put("items Entity", entities(e -> e.items = entity(new Entity<>(), new Item(1), new Item(2), new Item(3))));
        values.put("two", entities(e -> e.two = two(new Two<>(), 1L, "text", "more")));
        values.put("other", entities(e -> e.other = two(new Two<>(), "text", new Item(1), new Item(2))));
        values.put("swapped", entities(e -> e.swapped = with(two(new Swapped<Long, String>(), "text", 2L, 3L), s -> s.x = 4L)));
        values.put("two SwappedOfLong", entities(e -> e.any = with(two(new SwappedOfLong(), "text", 2L, 3L), s -> s.x = 4L)));
        values.put("counted", entities(e -> e.counted = counted()));
        values.put("any Two", entities(e -> e.any = two(new Two<>(), 1L, "text", "more")));
        values.put("all Two", entities(e -> e.all = new ArrayList<>(List.of(two(new Two<>(), 1L, new Item(2), new Item(3))))));
        values.put("Half", half(new Half<Long>()));
        values.put("HalfOfLong", half(new HalfOfLong()));
        values.put("HasTwo", hasTwo(new HasTwo<Long>()));
        values.put("HasTwoOfLong", hasTwo(new HasTwoOfLong()));
        values.put("half", entities(e -> e.half = half(new Half<Long>())));
        values.put("has", entities(e -> e.has = hasTwo(new HasTwo<Long>())));
        return values;
    }

    private static Map<String, Object> ofRecords() {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("Parts", parts());
        values.put("Parts text", text());
        values.put("parts", records(r -> r.parts = parts()));
        values.put("all Parts", records(r -> r.all = new ArrayList<>(List.of(parts(), text()))));
        values.put("any Parts", records(r -> r.any = text()));
        values.put("Pair", new Pair<>(1L, box(2L, 3L, 4L)));
        values.put("pair", records(r -> r.pair = new Pair<>(1L, box(2L, 3L, 4L))));
        values.put("Parts in Box", boxes(b -> b.box = with(box(1L, 2L, 3L), of -> of.any = text())));
        return values;
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> codecs = new LinkedHashMap<>();
        codecs.put("serialization", "SerializationCodec");
        codecs.put("marshalling", "MarshallingCodec");
        codecs.put("kryo5", "Kryo5Codec");
        codecs.put("json", "JsonJacksonCodec");
        codecs.put("json3", "JsonJackson3Codec");
        for (Map.Entry<String, String> entry : codecs.entrySet()) {
            Codec codec;
            try {
                codec = (Codec) Class.forName("org.redisson.codec." + entry.getValue()).getDeclaredConstructor().newInstance();
            } catch (ClassNotFoundException absent) {
                continue; // in this release
            }
            Map<String, Object> values = values();
            if (!entry.getKey().startsWith("json")) { // which have orders of their own for components
                values.putAll(ofRecords());
            }
            for (Map.Entry<String, Object> value : values.entrySet()) {
                String hex;
                try {
                    ByteBuf bytes = codec.getValueEncoder().encode(value.getValue());
                    hex = ByteBufUtil.hexDump(bytes);
                    codec.getValueDecoder().decode(bytes, null);
                } catch (Exception unreadable) {
                    System.err.println(entry.getKey() + " does not read its own " + value.getKey() + ": " + unreadable);
                    continue;
                }
                System.out.println(entry.getKey() + "\t" + value.getKey() + "\t" + hex);
            }
        }
        System.exit(0);
    }
}
