package demo;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.MonthDay;
import java.time.OffsetDateTime;
import java.time.OffsetTime;
import java.time.Period;
import java.time.Year;
import java.time.YearMonth;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.IntFunction;
import java.util.function.Supplier;
import org.redisson.client.codec.Codec;

/**
 * What the codecs of a Redisson make of TreeSets, TreeMaps and HashMaps, whose order is that of compareTo and of
 * hashCode. A line has the codec, the value's name and the bytes.
 */
public final class Trees {

    /** What all codecs have. */
    public static class Numbers implements Serializable {
        private static final long serialVersionUID = 1L;
        public TreeSet<Integer> ints;
        public TreeSet<Long> longs;
        public TreeSet<Double> doubles;
        public TreeSet<Float> floats;
        public TreeSet<BigDecimal> decimals;
        public TreeSet<BigInteger> integers;
        public TreeMap<Integer, String> byInt;
        public int n;
    }

    public static class Sets implements Serializable {
        private static final long serialVersionUID = 2L;
        public TreeSet<Instant> instants;
        public TreeSet<Duration> durations;
        public TreeSet<Year> years;
        public TreeSet<YearMonth> months;
        public TreeSet<MonthDay> days;
        public TreeSet<LocalTime> times;
        public TreeSet<LocalDateTime> locals;
        public TreeSet<OffsetTime> offsetTimes;
        public TreeSet<OffsetDateTime> offsets;
        public TreeSet<ZonedDateTime> zones;
        public TreeSet<Timestamp> stamps;
    }

    public static class Maps implements Serializable {
        private static final long serialVersionUID = 3L;
        public Map<Double, Integer> doubles;
        public Map<Float, Integer> floats;
        public Map<BigDecimal, Integer> decimals;
        public Map<Instant, Integer> instants;
        public Map<Duration, Integer> durations;
        public Map<Year, Integer> years;
        public Map<YearMonth, Integer> months;
        public Map<MonthDay, Integer> days;
        public Map<LocalTime, Integer> times;
        public Map<LocalDateTime, Integer> locals;
        public Map<OffsetTime, Integer> offsetTimes;
        public Map<OffsetDateTime, Integer> offsets;
        public Map<ZonedDateTime, Integer> zones;
        public Map<Timestamp, Integer> stamps;
        public Map<Period, Integer> periods;
    }

    private Trees() {
    }

    private static final Instant START = Instant.parse("1969-12-31T23:59:58.5Z");

    private static <T> List<T> some(IntFunction<T> make) {
        List<T> all = new ArrayList<>();
        for (int i = 0; i < 10; i++) {
            all.add(make.apply(i * 7 % 10 - 3));
        }
        return all;
    }

    private static List<Double> doubles() {
        return List.of(2.5, 1e300, Double.NaN, -1.5, 0.0, Double.POSITIVE_INFINITY, 10.0, Double.MIN_VALUE, 9.0, 1e-3);
    }

    private static List<Float> floats() {
        return List.of(2.5f, 1e30f, Float.NaN, -1.5f, 0f, Float.NEGATIVE_INFINITY, 10f, 9f, 0.1f);
    }

    private static List<BigDecimal> decimals() {
        return List.of(new BigDecimal("10"), new BigDecimal("9.5"), new BigDecimal("-0.75"), new BigDecimal("1E+3"), new BigDecimal("0.00"),
                new BigDecimal("99999999999999999999.5"), new BigDecimal("-12"), new BigDecimal("1E-7"), new BigDecimal("123456789012.25"));
    }

    private static Instant instant(int i) {
        return START.plusNanos(i * 700_000_001L);
    }

    private static Duration duration(int i) {
        return Duration.ofMillis(i * 1_500L + 1);
    }

    private static LocalDateTime local(int i) {
        return LocalDateTime.of(2026, 1, 10, 12, 0).plusHours(i * 11L).plusNanos(i + 5L);
    }

    private static LocalTime time(int i) {
        return LocalTime.of(5 + i / 2, i & 1, i & 2, i + 4);
    }

    private static ZoneOffset offset(int i) {
        return ZoneOffset.ofHours(i % 3);
    }

    private static ZonedDateTime zoned(int i) {
        return ZonedDateTime.of(local(i / 2), i % 2 == 0 ? ZoneId.of("Europe/Berlin") : ZoneOffset.ofHours(1));
    }

    private static Timestamp stamp(int i) {
        return Timestamp.from(START.plusMillis(i * 700L));
    }

    private static Numbers numbers(boolean json) {
        Numbers of = new Numbers();
        of.ints = new TreeSet<>(List.of(3, -1, 100000, 0));
        of.longs = new TreeSet<>(List.of(3L, -1L, 1L << 40, 0L, 300L));
        of.doubles = new TreeSet<>(doubles());
        of.floats = new TreeSet<>(floats());
        if (json) {
            of.doubles.removeIf(d -> d.isNaN() || d.isInfinite());
            of.floats = null; // of these and of integers Go has another text, or none, where no class is told
        }
        of.doubles.add(-0.0);
        of.decimals = new TreeSet<>(decimals());
        of.integers = json ? null : new TreeSet<>(some(i -> BigInteger.valueOf(i * 1_000_000_007L + 1_000).pow(3)));
        of.byInt = new TreeMap<>();
        for (int i : List.of(30, -4, 200, 1)) {
            of.byInt.put(i, "at " + i);
        }
        return of;
    }

    private static Sets sets() {
        Sets of = new Sets();
        of.instants = new TreeSet<>(some(Trees::instant));
        of.durations = new TreeSet<>(some(Trees::duration));
        of.years = new TreeSet<>(some(i -> Year.of(i * 300)));
        of.months = new TreeSet<>(some(i -> YearMonth.of(i / 3, i + 4)));
        of.days = new TreeSet<>(some(i -> MonthDay.of(i + 4, 17 - i)));
        of.times = new TreeSet<>(some(Trees::time));
        of.locals = new TreeSet<>(some(Trees::local));
        of.offsetTimes = new TreeSet<>(some(i -> OffsetTime.of(LocalTime.of(5 + i % 3, 0), offset(i))));
        of.offsets = new TreeSet<>(some(i -> OffsetDateTime.of(2026, 1, 10, 5 + i % 3, 0, 0, i & 1, offset(i))));
        of.zones = new TreeSet<>(some(Trees::zoned));
        of.stamps = new TreeSet<>(some(Trees::stamp));
        return of;
    }

    private static <K> Map<K, Integer> filled(Supplier<Map<K, Integer>> make, Collection<K> keys) {
        Map<K, Integer> all = make.get();
        for (K key : new TreeSet<>(keys)) { // as Go has them in one bucket
            all.put(key, all.size());
        }
        return all;
    }

    private static <K> void put(Map<K, Integer> all, Collection<K> keys) {
        for (K key : keys) {
            all.put(key, all.size());
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static Maps maps(Supplier<Map> make) {
        Maps of = new Maps();
        of.doubles = filled((Supplier) make, doubles());
        of.floats = filled((Supplier) make, floats());
        of.decimals = filled((Supplier) make, decimals());
        of.instants = filled((Supplier) make, some(Trees::instant));
        of.durations = filled((Supplier) make, some(Trees::duration));
        of.years = filled((Supplier) make, some(i -> Year.of(i * 300)));
        of.months = filled((Supplier) make, some(i -> YearMonth.of(i / 3, i + 4)));
        of.days = filled((Supplier) make, some(i -> MonthDay.of(i + 4, 17 - i)));
        of.times = filled((Supplier) make, some(Trees::time));
        of.locals = filled((Supplier) make, some(Trees::local));
        of.offsetTimes = filled((Supplier) make, some(i -> OffsetTime.of(LocalTime.of(5 + i % 3, 0), offset(i))));
        of.offsets = filled((Supplier) make, some(i -> OffsetDateTime.of(2026, 1, 10, 5 + i % 3, 0, 0, i & 1, offset(i))));
        of.zones = filled((Supplier) make, some(Trees::zoned));
        of.stamps = filled((Supplier) make, some(Trees::stamp));
        if (make.get() instanceof HashMap) {
            of.periods = new HashMap<>();
            put(of.periods, List.of(Period.of(1, 2, 3), Period.of(0, 1, 700), Period.of(-1, 0, 5), Period.ofDays(9), Period.ofMonths(15)));
        }
        return of;
    }

    private static Maps zeros() {
        Maps of = new Maps();
        of.doubles = new HashMap<>();
        of.floats = new HashMap<>();
        put(of.doubles, List.of(0.0, -0.0));
        put(of.floats, List.of(0f, -0f));
        return of;
    }

    private static Codec codec(String name) throws ReflectiveOperationException {
        Class<?> of = Class.forName("org.redisson.codec." + name);
        return (Codec) (name.startsWith("Typed") ? of.getDeclaredConstructor(Class.class).newInstance(Numbers.class)
                : of.getDeclaredConstructor().newInstance());
    }

    public static void main(String[] arguments) throws Exception {
        Map<String, String> codecs = new LinkedHashMap<>();
        codecs.put("serialization", "SerializationCodec");
        codecs.put("marshalling", "MarshallingCodec");
        codecs.put("kryo5", "Kryo5Codec");
        codecs.put("json", "JsonJacksonCodec");
        codecs.put("typed-json", "TypedJsonJacksonCodec");
        codecs.put("json3", "JsonJackson3Codec");
        codecs.put("typed-json3", "TypedJsonJackson3Codec");
        for (Map.Entry<String, String> entry : codecs.entrySet()) {
            Codec codec;
            try {
                codec = codec(entry.getValue());
            } catch (ClassNotFoundException absent) {
                continue; // in this release
            }
            boolean isJSON = entry.getKey().contains("json");
            Map<String, Object> values = new LinkedHashMap<>();
            values.put("Numbers", numbers(isJSON));
            if (!isJSON) {
                values.put("Sets", sets());
                values.put("TreeMaps", maps(TreeMap::new));
                values.put("HashMaps", maps(HashMap::new));
                values.put("zeros", zeros());
            }
            for (Map.Entry<String, Object> value : values.entrySet()) {
                ByteBuf bytes = codec.getValueEncoder().encode(value.getValue());
                String hex = ByteBufUtil.hexDump(bytes);
                codec.getValueDecoder().decode(bytes, null);
                System.out.println(entry.getKey() + "\t" + value.getKey() + "\t" + hex);
            }
        }
        System.exit(0);
    }
}
