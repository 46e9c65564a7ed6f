package demo;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.TreeSet;
import org.redisson.client.codec.Codec;
import org.redisson.codec.JsonJackson3Codec;
import org.redisson.codec.JsonJacksonCodec;
import org.redisson.codec.TypedJsonJackson3Codec;
import org.redisson.codec.TypedJsonJacksonCodec;

/**
 * Beans whose setters do this or that: setters.jar has the classes, and main writes what is another than before in an
 * object that a codec has written and read, "=" where nothing is.
 */
public final class Setters {

    public static void main(String[] args) throws Exception {
        TreeSet<String> lines = new TreeSet<>();
        for (Class<?> c : Setters.class.getDeclaredClasses()) {
            if (c == Bean.class || !Bean.class.isAssignableFrom(c)) {
                continue;
            }
            lines.add(c.getName() + "\tjson\t" + wrong(c, new JsonJacksonCodec()));
            lines.add(c.getName() + "\ttyped-json\t" + wrong(c, new TypedJsonJacksonCodec(c)));
            lines.add(c.getName() + "\tjson3\t" + wrong(c, new JsonJackson3Codec()));
            lines.add(c.getName() + "\ttyped-json3\t" + wrong(c, new TypedJsonJackson3Codec(c)));
        }
        lines.forEach(System.out::println);
        System.exit(0);
    }

    private static final String[] CASES = {"null ", "full ", "half "};

    private static String wrong(Class<?> c, Codec codec) throws Exception {
        StringBuilder all = new StringBuilder();
        for (int full = 0; full < 3; full++) {
            Object bean = c.getConstructor().newInstance();
            for (Field f : fields(c)) {
                f.set(bean, full == 0 || full == 2 && f.getName().equals("b") ? null : f.getType() == List.class ? new ArrayList<>(List.of(5L)) : f.getType() == Long.class ? 7L : "text");
            }
            Object read;
            try {
                ByteBuf json = codec.getValueEncoder().encode(bean);
                String text = json.toString(StandardCharsets.UTF_8);
                json.release();
                read = codec.getValueDecoder().decode(Unpooled.wrappedBuffer(text.getBytes(StandardCharsets.UTF_8)), null);
            } catch (Exception e) {
                all.append(CASES[full]).append("fails;");
                continue;
            }
            for (Field f : fields(c)) {
                boolean same = Objects.equals(f.get(bean), f.get(read)) && (f.getType() != List.class || f.get(read) == null || ((List<?>) f.get(read)).get(0) instanceof Long);
                if (!same) {
                    all.append(CASES[full]).append(f.getName()).append("=").append(f.get(read)).append(";");
                }
            }
        }
        return all.length() == 0 ? "=" : all.toString();
    }

    private static List<Field> fields(Class<?> c) {
        List<Field> all = new ArrayList<>();
        for (Class<?> of = c; of != Bean.class && of != null; of = of.getSuperclass()) {
            for (Field f : of.getDeclaredFields()) {
                if (!java.lang.reflect.Modifier.isStatic(f.getModifiers())) {
                    f.setAccessible(true);
                    all.add(f);
                }
            }
        }
        return all;
    }

    public abstract static class Bean implements Serializable {
        private static final long serialVersionUID = 1L;
    }

    public static class Plain extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            this.a = a;
        }
    }

    public static class None extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }
    }

    public static class Fluent extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public Fluent setA(String a) {
            this.a = a;
            return this;
        }
    }

    public static class Nulls extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            this.a = a == null ? "nulled" : a;
        }
    }

    public static class Also extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            this.a = a;
            setB("by-a");
        }
    }

    public static class Checked extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            this.a = Objects.requireNonNull(a);
        }
    }

    public static class Unless extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            if (a != null) {
                this.a = a;
            }
        }
    }

    public static class Other extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            this.b = a;
        }
    }

    /** Jackson takes setters that are not public, too. */
    public static class Changes extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        void setA(String a) {
            this.a = a + "!";
        }
    }

    public static class Hidden extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        private void setA(String a) {
            this.a = a + "!";
        }
    }

    public static class OfClass extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public static void setA(String a) {
            throw new IllegalStateException(a);
        }
    }

    /** There is no property that it sets. */
    public static class Without extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setAll(String all) {
            this.a = all + "!";
            this.b = all + "!";
        }
    }

    public static class Boxed extends Bean {
        private static final long serialVersionUID = 1L;
        private Long n;

        public Long getN() {
            return n;
        }

        public void setN(long n) {
            this.n = n;
        }
    }

    public static class Wide extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(Object a) {
            this.a = "wide " + a;
        }
    }

    public static class Raw extends Bean {
        private static final long serialVersionUID = 1L;
        private List<Long> l;

        public List<Long> getL() {
            return l;
        }

        @SuppressWarnings({"rawtypes", "unchecked"})
        public void setL(List l) {
            this.l = l;
        }
    }

    public static class Listed extends Bean {
        private static final long serialVersionUID = 1L;
        private List<Long> l;

        public List<Long> getL() {
            return l;
        }

        public void setL(List<Long> l) {
            this.l = l;
        }
    }

    public static class Copies extends Bean {
        private static final long serialVersionUID = 1L;
        private List<Long> l;

        public List<Long> getL() {
            return l;
        }

        public void setL(List<Long> l) {
            this.l = new ArrayList<>(l);
        }
    }

    public static class Twice extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void setA(String a) {
            this.a = a;
        }

        public void setA(Integer a) {
            this.a = "number " + a;
        }
    }

    public static class Overrides extends Plain {
        private static final long serialVersionUID = 1L;

        @Override
        public void setA(String a) {
            super.setA(a + "!");
        }
    }

    /** It is no setter to beans. */
    public static class Small extends Bean {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }

        public void seta(String a) {
            this.a = a + "!";
        }
    }

    public static class Faced extends Bean implements Face {
        private static final long serialVersionUID = 1L;
        private String a;
        private String b;

        public String getA() {
            return a;
        }

        public String getB() {
            return b;
        }

        public void setB(String b) {
            this.b = b;
        }
    }

    public interface Face {
        String getA();

        default void setA(String a) {
            throw new IllegalStateException(a);
        }
    }

    public static class Above extends Bean {
        private static final long serialVersionUID = 1L;
        protected String a;

        public String getA() {
            return a;
        }
    }

    public static class Below extends Above {
        private static final long serialVersionUID = 1L;

        public void setA(String a) {
            this.a = a;
        }
    }

    public static class Changed extends Above {
        private static final long serialVersionUID = 1L;

        public void setA(String a) {
            this.a = a + "!";
        }
    }

    public static class Public extends Bean {
        private static final long serialVersionUID = 1L;
        public String a;

        public void setA(String a) {
            this.a = a + "!";
        }
    }

    private Setters() {
    }
}
