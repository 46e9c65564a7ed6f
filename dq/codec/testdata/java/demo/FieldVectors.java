package demo;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.Currency;
import java.util.Date;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.GregorianCalendar;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.Scanner;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.client.codec.Codec;

/**
 * Writes what the codecs of the Redisson on the class path make of the values below, a line each:
 * codec, class, number of the value, its text, and the bytes in hexadecimal or "-" and why there are none.
 * With the argument "read" it takes such lines and tells of each whether Redisson reads the value from the bytes.
 */
public final class FieldVectors {

    private static final Map<String, Object[][]> VALUES = new LinkedHashMap<>();

    private static void bean(Class<?> type, Object... values) {
        Object[][] fields = new Object[values.length][];
        for (int i = 0; i < values.length; i++) {
            fields[i] = new Object[] {values[i], "end"};
        }
        VALUES.put(type.getName(), fields);
    }

    private static final UUID ID = UUID.fromString("00112233-4455-6677-8899-aabbccddeeff");

    static {
        VALUES.put(FloatBean.class.getName(), new Object[][] {{1.5f, -2.25f, "end"}, {Float.NaN, null, "end"}, {Float.NEGATIVE_INFINITY, 0f, "end"}});
        VALUES.put(SmallBean.class.getName(), new Object[][] {
            {(byte) -5, (byte) 7, (short) -300, (short) 300, 'x', '\u20ac', "end"},
            {(byte) 0, null, (short) 0, null, '\0', null, "end"}});
        bean(DateBean.class, new Date(1700000000123L), new Date(-1), new Date(0), null);
        bean(BigIntegerBean.class, new BigInteger("123456789012345678901234567890"), BigInteger.valueOf(-129), BigInteger.ZERO, null);
        bean(BigDecimalBean.class, new BigDecimal("12.50"), new BigDecimal("-0.001"), new BigDecimal("1E+3"), BigDecimal.ZERO,
            new BigDecimal("123456789012345678901234567890.123"), BigDecimal.valueOf(300, -2), null);
        bean(UuidBean.class, ID, new UUID(0, 1), null);
        bean(ColorBean.class, Color.RED, Color.BLUE, null);
        bean(InstantBean.class, Instant.ofEpochSecond(1700000000L, 123456789), Instant.EPOCH, Instant.ofEpochSecond(-5, 1), null);
        bean(DurationBean.class, Duration.ofSeconds(90, 5), Duration.ZERO, Duration.ofNanos(-1), null);
        bean(LocalDateBean.class, LocalDate.of(2024, 2, 29), LocalDate.of(-3, 1, 1), null);
        bean(LocalTimeBean.class, LocalTime.of(13, 0), LocalTime.of(13, 5), LocalTime.of(13, 5, 7), LocalTime.of(13, 5, 7, 9), LocalTime.MIDNIGHT, null);
        bean(LocalDateTimeBean.class, LocalDateTime.of(2024, 2, 29, 23, 59, 58, 7), LocalDateTime.of(1999, 12, 31, 0, 0), null);
        bean(OffsetDateTimeBean.class, OffsetDateTime.of(2024, 2, 29, 23, 59, 58, 7, ZoneOffset.ofHours(2)),
            OffsetDateTime.of(2024, 2, 29, 23, 0, 0, 0, ZoneOffset.ofTotalSeconds(-3661)), null);
        bean(ZonedDateTimeBean.class, ZonedDateTime.of(2024, 2, 29, 23, 59, 58, 7, ZoneId.of("Europe/Berlin")), null);
        bean(YearBean.class, Year.of(2024), Year.of(-3), null);
        bean(YearMonthBean.class, YearMonth.of(2024, 2), YearMonth.of(-3, 12), null);
        bean(MonthDayBean.class, MonthDay.of(2, 29), null);
        bean(OffsetTimeBean.class, OffsetTime.of(13, 5, 7, 9, ZoneOffset.ofHours(2)), OffsetTime.of(13, 0, 0, 0, ZoneOffset.ofTotalSeconds(-3661)), null);
        bean(AtomicLongBean.class, new AtomicLong(300), new AtomicLong(-1), new AtomicLong(0), null);
        bean(AtomicIntegerBean.class, new AtomicInteger(-300), new AtomicInteger(Integer.MAX_VALUE), null);
        bean(AtomicBooleanBean.class, new AtomicBoolean(true), new AtomicBoolean(false), null);
        bean(LocaleBean.class, new Locale("de", "DE"), Locale.ENGLISH, Locale.ROOT, new Locale("th", "TH", "TH1"), null);
        bean(OptionalBean.class, Optional.of("here"), Optional.empty());
        bean(ListBean.class, list("a", "b"), new LinkedList<>(list("a", "b")), Arrays.asList("a", "b"), List.of(), List.of("a"), List.of("a", "b"),
            List.of("a", "b", "c"), Collections.emptyList(), Collections.singletonList("a"), Collections.unmodifiableList(list("a", "b")),
            list("a", null), new CopyOnWriteArrayList<>(list("a", "b")), list("a", "b", "c").stream().toList(), null);
        bean(SetBean.class, set("a", "b", "c"), set(), new LinkedHashSet<>(list("z", "a")), new TreeSet<>(list("z", "a")), java.util.Set.of("a"),
            Collections.emptySet(), Collections.singleton("a"), Collections.unmodifiableSet(set("a", "b")), set("a", null), null);
        bean(LongSetBean.class, set(5L, 7L, 300L), set(), null);
        bean(DateSetBean.class, set(new Date(1700000000123L), new Date(5)));
        bean(LinkedHashSetBean.class, new LinkedHashSet<>(list("z", "a")), new LinkedHashSet<>(), null);
        bean(TreeSetBean.class, new TreeSet<>(list("z", "a")), new TreeSet<>(), null);
        bean(MapBean.class, new TreeMap<>(Map.of("a", "1", "b", "2")), new LinkedHashMap<>(Map.of("a", "1")), Map.of(), Map.of("a", "1"),
            Map.of("a", "1", "b", "2"), Collections.emptyMap(), Collections.singletonMap("a", "1"), Collections.unmodifiableMap(new TreeMap<>(Map.of("a", "1"))),
            new ConcurrentHashMap<>(Map.of("a", "1")));
        bean(DateListBean.class, list(new Date(5), new Date(6)), list(new Date(5), null), list());
        bean(DecimalMapBean.class, map("a", new BigDecimal("1.2"), "b", new BigDecimal("34.5"), "c", new BigDecimal("1.2")));
        bean(InstantListBean.class, list(Instant.EPOCH, Instant.ofEpochSecond(1, 2)), list(Instant.EPOCH, null));
        bean(ColorListBean.class, list(Color.RED, Color.BLUE, Color.RED), list(Color.GREEN, null));
        bean(UuidMapBean.class, map("a", ID, "b", null));
        bean(ListsBean.class, list(list("a", "b"), list(), list("c", null)), list(list("a"), null), list(list(), list()));
        bean(ListMapBean.class, map("a", list(1L, 2L), "b", list(), "c", null));
        bean(MapListBean.class, list(map("a", 1, "b", null), map()));
        bean(BeanListMapBean.class, map("a", list(dateBean(5), dateBean(6)), "b", list(dateBean(7), null)));
        bean(StringArrayBean.class, new String[] {"a", null, ""}, new String[0], null);
        bean(IntArrayBean.class, new int[] {1, -300, 70000}, new int[0], null);
        bean(LongArrayBean.class, new long[] {1, -300, 1L << 40}, null);
        bean(DoubleArrayBean.class, new double[] {1.5, -0.0}, null);
        bean(BoolArrayBean.class, new boolean[] {true, false, true, true, false, false, false, false, true}, new boolean[8], null);
        bean(IntegerArrayBean.class, new Integer[] {1, null, 3}, null);
        bean(ColorArrayBean.class, new Color[] {Color.RED, null, Color.RED}, null);
        bean(DateArrayBean.class, new Date[] {new Date(5), null, new Date(6)}, null);
        bean(BeanArrayBean.class, new DateBean[] {dateBean(5), null}, new DateBean[0], null);
        bean(AnyBean.class, new Date(5), new BigDecimal("1.50"), new BigInteger("77"), ID, Color.GREEN, Instant.EPOCH, LocalDate.of(2024, 2, 29),
            Duration.ofSeconds(1), 'x', (byte) 1, (short) 2, 1.5f, set("a", "b"), new Locale("de", "DE"), LocalTime.of(1, 2), LocalDateTime.of(2024, 1, 1, 1, 1),
            OffsetDateTime.of(2024, 2, 29, 23, 59, 58, 7, ZoneOffset.UTC));
        VALUES.put(PlainRecord.class.getName(), new Object[][] {
            {7, "seven", 99L, new Date(5), list("a", "b"), map("k", 1L), Color.BLUE, true}, {0, null, null, null, null, null, null, false}});
        VALUES.put(OrderBean.class.getName(), new Object[][] {
            {new Date(5), Color.RED, 3L, new BigDecimal("9.90"), set("a", "b"), orderBean(), list(list(1L, 2L), list())}, {null, null, 0L, null, null, null, null}});
        VALUES.put("demo.AnyBean skipped", Arrays.stream(new Object[] {
            new Unknown(), new UnknownChild(), new UnknownExternal(), new EnumMap<>(Map.of(Color.RED, 1)), EnumSet.of(Color.RED, Color.BLUE), BitSet.valueOf(new long[] {5}),
            new StringBuilder("text"), new StringBuffer("text"), new GregorianCalendar(2024, 1, 1), TimeZone.getTimeZone("Europe/Berlin"), URI.create("http://localhost/a"), Currency.getInstance("EUR"),
            Integer.class, new Class<?>[] {int.class, String[].class, Unknown.class, Color.class, List.class}, new IllegalStateException("broken", new RuntimeException("cause")),
            new int[][] {{1}, {}}, new Object[] {1, "a", null, new Date(5)}, map(1, "one"), new TreeMap<>(Map.of(5L, list("x"))), new ConcurrentHashMap<>(Map.of("a", 1)),
            new ArrayDeque<>(list("a")), new Properties(), Period.ofDays(3), ZonedDateTime.of(2024, 2, 29, 23, 59, 58, 7, ZoneId.of("Europe/Berlin")),
            Collections.unmodifiableMap(map("a", 1)), Collections.synchronizedList(list("a")), new java.util.Stack<>(), new java.util.concurrent.atomic.AtomicInteger(3),
            list(Unknown.class, Color.RED, Color.RED), Map.entry("a", 1).getKey(), new java.sql.Timestamp(5), new java.util.AbstractMap.SimpleEntry<>("a", 1),
        }).map(value -> new Object[] {value, "end"}).toArray(Object[][]::new));
    }

    private static List<Object> list(Object... values) {
        return new ArrayList<>(Arrays.asList(values));
    }

    private static HashSet<Object> set(Object... values) {
        HashSet<Object> set = new HashSet<>();
        Collections.addAll(set, values);
        return set;
    }

    private static Map<Object, Object> map(Object... pairs) {
        Map<Object, Object> map = new java.util.HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put(pairs[i], pairs[i + 1]);
        }
        return map;
    }

    private static DateBean dateBean(long ms) {
        DateBean bean = new DateBean();
        bean.value = new Date(ms);
        bean.zz = new String("in"); // an instance of its own, as those of a message that was read
        return bean;
    }

    private static OrderBean orderBean() {
        OrderBean bean = new OrderBean();
        bean.created = new Date(6);
        bean.version = 2;
        bean.total = new BigDecimal("1E+3");
        return bean;
    }

    /** The fields of a class, those of its super class first, in the order of their declaration. */
    private static List<Field> fields(Class<?> type) {
        List<Field> fields = type.getSuperclass() == null ? new ArrayList<>() : fields(type.getSuperclass());
        for (Field field : type.getDeclaredFields()) {
            if (!java.lang.reflect.Modifier.isStatic(field.getModifiers())) {
                if (type.getName().startsWith("demo.")) {
                    field.setAccessible(true);
                }
                fields.add(field);
            }
        }
        return fields;
    }

    private static Object make(String name, Object[] values) throws Exception {
        Class<?> type = Class.forName(name.split(" ")[0]);
        Constructor<?> constructor = type.getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        if (type.isRecord()) {
            return constructor.newInstance(values);
        }
        Object made = constructor.newInstance();
        int i = 0;
        for (Field field : fields(type)) {
            field.set(made, values[i++]);
        }
        return made;
    }

    private static String text(Object value) throws Exception {
        if (value == null) {
            return "null";
        }
        if (value.getClass().isArray()) {
            StringBuilder all = new StringBuilder("[");
            for (int i = 0; i < Array.getLength(value); i++) {
                all.append(text(Array.get(value, i))).append(", ");
            }
            return all.append("]").toString();
        }
        if (value instanceof List<?> list) {
            return text(list.toArray());
        }
        if (value instanceof Date date) {
            return "Date " + date.getTime();
        }
        if (value instanceof Map<?, ?> map && map.keySet().stream().allMatch(String.class::isInstance)) {
            StringBuilder all = new StringBuilder("{");
            for (Map.Entry<?, ?> entry : new TreeMap<Object, Object>(map).entrySet()) {
                all.append(entry.getKey()).append("=").append(text(entry.getValue())).append(", ");
            }
            return all.append("}").toString();
        }
        if (!value.getClass().getName().startsWith("demo.") || value instanceof Color) {
            return String.valueOf(value);
        }
        StringBuilder all = new StringBuilder(value.getClass().getSimpleName() + "{");
        if (!value.getClass().getSimpleName().startsWith("Unknown")) {
            for (Field field : fields(value.getClass())) {
                all.append(field.getName()).append("=").append(text(field.get(value))).append(", ");
            }
        }
        return all.append("}").toString();
    }

    private static final List<String> CODECS = List.of("kryo5", "marshalling", "serialization");

    private static void write() throws Exception {
        for (String name : CODECS) {
            Codec codec = Wire.codec(name, Object.class);
            if (codec == null) {
                continue; // this release has none
            }
            for (Map.Entry<String, Object[][]> entry : VALUES.entrySet()) {
                for (int i = 0; i < entry.getValue().length; i++) {
                    Object value = make(entry.getKey(), entry.getValue()[i]);
                    System.out.println(String.join("\t", name, entry.getKey(), "" + i, oneLine(text(value)), bytes(codec, entry.getKey(), value)));
                }
            }
        }
    }

    /** The bytes, if Redisson itself reads from them what it wrote; otherwise why not. */
    private static String bytes(Codec codec, String name, Object value) {
        try {
            byte[] bytes = Wire.encode(codec, value);
            Object back = Wire.decode(codec, bytes);
            if (!name.endsWith("skipped") && !text(back).equals(text(value))) {
                return "-\treads " + oneLine(text(back));
            }
            return HexFormat.of().formatHex(bytes);
        } catch (Throwable e) {
            String why = oneLine(e.toString());
            return "-\t" + why.substring(0, Math.min(why.length(), 120));
        }
    }

    private static String oneLine(String text) {
        return text.replaceAll("[\\s\\x00]+", " ");
    }

    private static void read() throws Exception {
        Scanner lines = new Scanner(System.in, java.nio.charset.StandardCharsets.UTF_8);
        int right = 0;
        int wrong = 0;
        while (lines.hasNextLine()) {
            String[] parts = lines.nextLine().split("\t");
            Object want = make(parts[1], VALUES.get(parts[1])[Integer.parseInt(parts[2])]);
            String got;
            try {
                got = text(Wire.decode(Wire.codec(parts[0], Object.class), HexFormat.of().parseHex(parts[4])));
            } catch (Throwable e) {
                got = e.toString();
            }
            if (Objects.equals(got, text(want))) {
                right++;
            } else {
                wrong++;
                System.out.println(parts[0] + " " + parts[1] + " " + parts[2] + ": want " + oneLine(text(want)) + ", got " + oneLine(got));
            }
        }
        System.out.println(right + " read as meant, " + wrong + " not");
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("read")) {
            read();
        } else {
            write();
        }
        System.exit(0);
    }

    private FieldVectors() {
    }
}
