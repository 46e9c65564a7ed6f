package demo;

import java.io.Externalizable;
import java.io.IOException;
import java.io.ObjectInput;
import java.io.ObjectInputStream;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZonedDateTime;
import java.util.Date;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;

/** The value classes of fields.json: one field of a type each, and one behind it that shows where the value ends. */
final class Fields {
}

class FloatBean implements Serializable {
    private static final long serialVersionUID = 50L;
    float value;
    Float boxed;
    String zz;
}

class SmallBean implements Serializable {
    private static final long serialVersionUID = 50L;
    byte a;
    Byte b;
    short c;
    Short d;
    char e;
    Character f;
    String zz;
}

class BigIntegerBean implements Serializable {
    private static final long serialVersionUID = 50L;
    BigInteger value;
    String zz;
}

class BigDecimalBean implements Serializable {
    private static final long serialVersionUID = 50L;
    BigDecimal value;
    String zz;
}

class UuidBean implements Serializable {
    private static final long serialVersionUID = 50L;
    UUID value;
    String zz;
}

class ColorBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Color value;
    String zz;
}

class InstantBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Instant value;
    String zz;
}

class DurationBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Duration value;
    String zz;
}

class LocalDateBean implements Serializable {
    private static final long serialVersionUID = 50L;
    LocalDate value;
    String zz;
}

class LocalTimeBean implements Serializable {
    private static final long serialVersionUID = 50L;
    LocalTime value;
    String zz;
}

class LocalDateTimeBean implements Serializable {
    private static final long serialVersionUID = 50L;
    LocalDateTime value;
    String zz;
}

class OffsetDateTimeBean implements Serializable {
    private static final long serialVersionUID = 50L;
    OffsetDateTime value;
    String zz;
}

class ZonedDateTimeBean implements Serializable {
    private static final long serialVersionUID = 50L;
    ZonedDateTime value;
    String zz;
}

class YearBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.time.Year value;
    String zz;
}

class YearMonthBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.time.YearMonth value;
    String zz;
}

class MonthDayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.time.MonthDay value;
    String zz;
}

class OffsetTimeBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.time.OffsetTime value;
    String zz;
}

class AtomicLongBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.util.concurrent.atomic.AtomicLong value;
    String zz;
}

class AtomicIntegerBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.util.concurrent.atomic.AtomicInteger value;
    String zz;
}

class AtomicBooleanBean implements Serializable {
    private static final long serialVersionUID = 50L;
    java.util.concurrent.atomic.AtomicBoolean value;
    String zz;
}

class LocaleBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Locale value;
    String zz;
}

class OptionalBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Optional<String> value;
    String zz;
}

class ListBean implements Serializable {
    private static final long serialVersionUID = 50L;
    List<String> value;
    String zz;
}

class SetBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Set<String> value;
    String zz;
}

class LongSetBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Set<Long> value;
    String zz;
}

class DateSetBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Set<Date> value;
    String zz;
}

class LinkedHashSetBean implements Serializable {
    private static final long serialVersionUID = 50L;
    LinkedHashSet<String> value;
    String zz;
}

class TreeSetBean implements Serializable {
    private static final long serialVersionUID = 50L;
    TreeSet<String> value;
    String zz;
}

class MapBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Map<String, String> value;
    String zz;
}

class DateListBean implements Serializable {
    private static final long serialVersionUID = 50L;
    List<Date> value;
    String zz;
}

class DecimalMapBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Map<String, BigDecimal> value;
    String zz;
}

class InstantListBean implements Serializable {
    private static final long serialVersionUID = 50L;
    List<Instant> value;
    String zz;
}

class ColorListBean implements Serializable {
    private static final long serialVersionUID = 50L;
    List<Color> value;
    String zz;
}

class UuidMapBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Map<String, UUID> value;
    String zz;
}

class ListsBean implements Serializable {
    private static final long serialVersionUID = 50L;
    List<List<String>> value;
    String zz;
}

class ListMapBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Map<String, List<Long>> value;
    String zz;
}

class MapListBean implements Serializable {
    private static final long serialVersionUID = 50L;
    List<Map<String, Integer>> value;
    String zz;
}

class BeanListMapBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Map<String, List<DateBean>> value;
    String zz;
}

class StringArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    String[] value;
    String zz;
}

class IntArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    int[] value;
    String zz;
}

class LongArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    long[] value;
    String zz;
}

class DoubleArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    double[] value;
    String zz;
}

class BoolArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    boolean[] value;
    String zz;
}

class IntegerArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Integer[] value;
    String zz;
}

class ColorArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Color[] value;
    String zz;
}

class DateArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Date[] value;
    String zz;
}

class BeanArrayBean implements Serializable {
    private static final long serialVersionUID = 50L;
    DateBean[] value;
    String zz;
}

/** A field whose class the bytes alone tell; also one that a Go struct leaves out. */
class AnyBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Object value;
    String zz;
}

/** A class that Go knows nothing of, with all that can be in one. */
class Unknown implements Serializable {
    private static final long serialVersionUID = 51L;
    int number = 3;
    String text = "shared";
    String[][] table = {{"a", null}, {}};
    Color color = Color.BLUE;
    Unknown self = this;
    transient int own = 9;

    private void writeObject(ObjectOutputStream out) throws IOException {
        out.defaultWriteObject();
        out.writeInt(own);
        out.writeObject("more");
        out.writeUTF("text");
        out.write(new byte[300]);
    }

    private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
        in.defaultReadObject();
        own = in.readInt();
        in.readObject();
        in.readUTF();
        in.readFully(new byte[300]);
    }
}

class UnknownChild extends Unknown {
    private static final long serialVersionUID = 52L;
    double rate = 0.5;
    Class<?> type = Integer.class;
    Date at = new Date(5);
}

class UnknownExternal implements Externalizable {
    private static final long serialVersionUID = 53L;

    public UnknownExternal() {
    }

    @Override
    public void writeExternal(ObjectOutput out) throws IOException {
        out.writeLong(7);
        out.writeObject(new Date(5));
        out.writeUTF("end");
    }

    @Override
    public void readExternal(ObjectInput in) throws IOException, ClassNotFoundException {
        in.readLong();
        in.readObject();
        in.readUTF();
    }
}
