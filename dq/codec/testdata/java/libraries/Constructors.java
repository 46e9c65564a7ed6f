package demo;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;

/** Constructors that give fields values, or let others do so: constructors.jar has the classes. */
public final class Constructors {

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

    static final class Helper {
        static void fill(Hands hands) {
            hands.kind = "handed";
        }

        private Helper() {
        }
    }

    private Constructors() {
    }
}
