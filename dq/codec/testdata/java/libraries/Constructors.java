package demo;

import io.netty.buffer.Unpooled;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.redisson.codec.JsonJacksonCodec;

/**
 * Constructors that give fields values, or let others do so: constructors.jar has the classes, and main writes which
 * fields of each are not null once Redisson has read JSON that has no members.
 */
public final class Constructors {

    public static void main(String[] args) throws Exception {
        TreeSet<String> lines = new TreeSet<>();
        for (Class<?> c : Constructors.class.getDeclaredClasses()) {
            if (!Serializable.class.isAssignableFrom(c) || Modifier.isAbstract(c.getModifiers())) {
                continue;
            }
            byte[] json = ("{\"@class\":\"" + c.getName() + "\"}").getBytes(StandardCharsets.UTF_8);
            Object read = new JsonJacksonCodec().getValueDecoder().decode(Unpooled.wrappedBuffer(json), null);
            TreeSet<String> given = new TreeSet<>();
            for (Class<?> of = c; of != Object.class; of = of.getSuperclass()) {
                for (Field f : of.getDeclaredFields()) {
                    f.setAccessible(true);
                    if (!Modifier.isStatic(f.getModifiers()) && f.get(read) != null) {
                        given.add(f.getName());
                    }
                }
            }
            lines.add(c.getName() + "\t" + String.join(",", given));
        }
        lines.forEach(System.out::println);
        System.exit(0);
    }

    public static class Plain implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;
        public List<String> tags = new ArrayList<>();
        public String other = String.valueOf(1);
    }

    public static class Below extends Plain {
        private static final long serialVersionUID = 1L;

        public Below() {
            kind = "below";
        }
    }

    public static class Sets implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public Sets() {
            setKind("set");
        }

        public Sets(String kind) {
            this.kind = kind;
        }

        void setKind(String kind) {
            this.kind = kind;
        }
    }

    public static class Arguments extends Sets {
        private static final long serialVersionUID = 1L;
        public String own;

        public Arguments() {
            super("argument");
        }
    }

    public static class Hands implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public Hands() {
            Helper.fill(this);
        }
    }

    public static class Private implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public Private() {
            init();
        }

        private void init() {
            kind = "private";
        }
    }

    /** Its builder has the default, as with Lombok. */
    public static class Built implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;
        public String free;

        public Built() {
            this.kind = defaultKind();
        }

        private static String defaultKind() {
            return "built";
        }
    }

    public static class OfSuper extends Sets {
        private static final long serialVersionUID = 1L;
        public String own;

        public OfSuper() {
            super(null);
            super.kind = "super";
        }
    }

    public static class OfCast extends Arguments {
        private static final long serialVersionUID = 1L;

        public OfCast() {
            ((Sets) this).kind = "cast";
            Arguments same = this;
            same.own = "same";
        }
    }

    public interface Named {
        void setKind(String kind);

        default void init() {
            setKind("named");
        }
    }

    public static class OfDefault implements Named, Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfDefault() {
            Named.super.init();
        }

        @Override
        public void setKind(String kind) {
            this.kind = kind;
        }
    }

    public static class OfNew implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfNew() {
            new Helper(this);
        }
    }

    public static class OfInstance implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfInstance() {
            Helper.ONE.go(this);
        }
    }

    public abstract static class Faced implements Named, Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        @Override
        public void setKind(String kind) {
            this.kind = kind;
        }
    }

    public static class OfFace extends Faced {
        private static final long serialVersionUID = 1L;
        public String own;

        public OfFace() {
            Helper.name(this);
        }
    }

    public static class OfAnonymous implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfAnonymous() {
            new Object() {
                {
                    kind = "anonymous";
                }
            };
        }
    }

    public static class OfLambda implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfLambda() {
            Runnable sets = () -> kind = "lambda";
            sets.run();
        }
    }

    public static class OfReference implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfReference() {
            Runnable sets = this::init;
            sets.run();
        }

        void init() {
            kind = "reference";
        }
    }

    public static class OfConsumer implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfConsumer() {
            Helper.give(made -> made.kind = "consumer", this);
        }
    }

    public static class OfArray implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfArray() {
            OfArray[] all = {this};
            all[0].kind = "array";
        }
    }

    public static class OfStatic implements Serializable {
        private static final long serialVersionUID = 1L;
        private static OfStatic last;
        public String kind;

        public OfStatic() {
            last = this;
            last.kind = "static";
        }
    }

    public static class OfField implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;
        public transient OfField me = this;

        public OfField() {
            me.kind = "field";
        }
    }

    public static class OfEither implements Serializable {
        private static final long serialVersionUID = 1L;
        public String kind;

        public OfEither() {
            OfEither to = Helper.ONE == null ? new OfEither() : this;
            to.kind = "either";
        }
    }

    public static class OfAbove extends OfInit {
        private static final long serialVersionUID = 1L;
        public String own;

        @Override
        void init() {
            own = "above";
        }
    }

    public abstract static class OfInit implements Serializable {
        private static final long serialVersionUID = 1L;

        OfInit() {
            init();
        }

        abstract void init();
    }

    /** All that an ordinary class does: nothing but the fields that it names gets a value. */
    public static class Ordinary implements Serializable {
        private static final long serialVersionUID = 1L;
        private static long count;
        public final String id = UUID.randomUUID().toString();
        public List<String> tags = new ArrayList<>(List.of("a", "b"));
        public Map<String, Integer> sizes = new HashMap<>();
        public LocalDate day = LocalDate.now();
        public Supplier<String> late;
        public String none = null;
        public String free;
        public Long number;
        public long[] counts;
        public double share = 0.5;
        public String big;

        public Ordinary() {
            this(List.of("x"), 3L, 1.5, null);
        }

        public Ordinary(List<String> tags, long number, double share, String free) {
            if (share < 0 || number == 7) {
                throw new IllegalArgumentException("share " + share);
            }
            Objects.requireNonNull(tags);
            this.free = free;
            for (String tag : tags) {
                sizes.put(tag, tag.length());
            }
            count += number;
            switch ((int) number) {
                case 1 -> this.number = 1L;
                case 2 -> this.number = null;
                default -> this.number = number;
            }
            try {
                counts = new long[Integer.parseInt("2")];
                counts[1]++;
            } catch (NumberFormatException e) {
                counts = null;
            } finally {
                synchronized (Ordinary.class) {
                    count--;
                }
            }
        }
    }

    public static class Nulls extends Sets {
        private static final long serialVersionUID = 1L;
        public String own;

        public Nulls() {
            this(null);
        }

        public Nulls(String kind) {
            super(kind);
            this.own = kind;
        }
    }

    public static class Holds implements Serializable {
        private static final long serialVersionUID = 1L;
        public OfNew inner;
        public List<OfLambda> all;
    }

    static final class Helper {
        static final Helper ONE = new Helper();

        static void fill(Hands hands) {
            hands.kind = "handed";
        }

        static void name(Named named) {
            named.setKind("face");
        }

        static void give(Consumer<OfConsumer> to, OfConsumer made) {
            to.accept(made);
        }

        void go(OfInstance made) {
            made.kind = "instance";
        }

        private Helper() {
        }

        Helper(OfNew made) {
            made.kind = "new";
        }
    }

    private Constructors() {
    }
}
