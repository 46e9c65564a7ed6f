package demo;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.io.Serializable;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Date;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
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

    private interface Fill {
        void fill(Holder holder);
    }

    private static Holder holder(Fill fill) {
        Holder holder = new Holder();
        fill.fill(holder);
        return holder;
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
            for (Map.Entry<String, Object> value : values().entrySet()) {
                ByteBuf bytes = codec.getValueEncoder().encode(value.getValue());
                System.out.println(entry.getKey() + "\t" + value.getKey() + "\t" + ByteBufUtil.hexDump(bytes));
                codec.getValueDecoder().decode(bytes, null);
            }
        }
        System.exit(0);
    }
}
