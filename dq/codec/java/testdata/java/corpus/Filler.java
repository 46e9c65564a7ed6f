package corpus;

import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Currency;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;

/** Makes random values of declared types, as services fill their messages; the same for a seed. */
final class Filler {

    /** The implementations that an interface has, subclasses by class. */
    private final Map<Class<?>, List<Class<?>>> subclasses;
    private final Random random;

    Filler(Map<Class<?>, List<Class<?>>> subclasses, long seed) {
        this.subclasses = subclasses;
        this.random = new Random(seed);
    }

    private boolean percent(int share) {
        return random.nextInt(100) < share;
    }

    Object object(Class<?> type, Map<TypeVariable<?>, Type> bindings, int depth) throws ReflectiveOperationException {
        if (type.isRecord()) {
            RecordComponent[] components = type.getRecordComponents();
            Object[] values = new Object[components.length];
            Class<?>[] types = new Class<?>[components.length];
            for (int i = 0; i < values.length; i++) {
                types[i] = components[i].getType();
                values[i] = field(type.getDeclaredField(components[i].getName()), bindings, depth);
            }
            Constructor<?> constructor = type.getDeclaredConstructor(types);
            constructor.setAccessible(true);
            return constructor.newInstance(values);
        }
        Constructor<?> constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        Object made = constructor.newInstance();
        for (Field field : fields(type)) {
            if (!Modifier.isTransient(field.getModifiers())) {
                field.set(made, field(field, bindings, depth));
            }
        }
        return made;
    }

    /** The fields of a class, those of its super class first. */
    static List<Field> fields(Class<?> type) {
        List<Field> fields = type.getSuperclass() == null ? new ArrayList<>() : fields(type.getSuperclass());
        for (Field field : type.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && type.getName().startsWith("acme.")) {
                field.setAccessible(true);
                fields.add(field);
            }
        }
        return fields;
    }

    private Object field(Field field, Map<TypeVariable<?>, Type> bindings, int depth) throws ReflectiveOperationException {
        boolean always = field.getType().isPrimitive() || field.isAnnotationPresent(Always.class);
        if (!always && percent(depth > 3 ? 90 : 10)) {
            return null;
        }
        return value(field.getGenericType(), bindings, depth);
    }

    private Object value(Type declared, Map<TypeVariable<?>, Type> bindings, int depth) throws ReflectiveOperationException {
        if (declared instanceof TypeVariable<?> variable) {
            return value(bindings.get(variable), bindings, depth);
        }
        if (declared instanceof GenericArrayType array) {
            return array((Class<?>) ((ParameterizedType) array.getGenericComponentType()).getRawType(), array.getGenericComponentType(), bindings, depth);
        }
        if (declared instanceof ParameterizedType type) {
            return generic((Class<?>) type.getRawType(), type.getActualTypeArguments(), bindings, depth);
        }
        Class<?> type = (Class<?>) declared;
        if (type.isArray()) {
            return array(type.getComponentType(), type.getComponentType(), bindings, depth);
        }
        if (type.isEnum()) {
            return type.getEnumConstants()[random.nextInt(type.getEnumConstants().length)];
        }
        if (type.getName().startsWith("acme.")) {
            List<Class<?>> choice = subclasses.getOrDefault(type, List.of(type));
            // The first one came before the fields of the interface, so that it holds none.
            return object(choice.get(depth > 2 ? 0 : random.nextInt(choice.size())), bindings, depth + 1);
        }
        return scalar(type);
    }

    private Object array(Class<?> type, Type element, Map<TypeVariable<?>, Type> bindings, int depth) throws ReflectiveOperationException {
        Object array = Array.newInstance(type, random.nextInt(4));
        for (int i = 0; i < Array.getLength(array); i++) {
            Array.set(array, i, value(element, bindings, depth + 1));
        }
        return array;
    }

    private Object generic(Class<?> type, Type[] of, Map<TypeVariable<?>, Type> bindings, int depth) throws ReflectiveOperationException {
        if (type.getName().startsWith("acme.")) {
            Map<TypeVariable<?>, Type> own = new HashMap<>(bindings);
            for (int i = 0; i < of.length; i++) {
                own.put(type.getTypeParameters()[i], of[i] instanceof TypeVariable<?> variable ? bindings.get(variable) : of[i]);
            }
            return object(type, own, depth + 1);
        }
        int size = random.nextInt(depth > 2 ? 2 : 5);
        if (Map.class.isAssignableFrom(type)) {
            Map<Object, Object> map = type == Map.class ? new HashMap<>() : type == TreeMap.class ? new TreeMap<>() : new LinkedHashMap<>();
            for (int i = 0; i < size; i++) {
                map.put(value(of[0], bindings, depth + 1), value(of[1], bindings, depth + 1));
            }
            return type == Map.class ? map(map) : map;
        }
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            list.add(value(of[0], bindings, depth + 1));
        }
        return type == Set.class ? set(list) : list(list, type == Collection.class);
    }

    /** The list as code makes one: mostly an ArrayList. */
    private Object list(List<Object> list, boolean anyCollection) {
        switch (random.nextInt(50)) {
            case 0: return List.copyOf(list);
            case 1: return Arrays.asList(list.toArray());
            case 2: return new LinkedList<>(list);
            case 3: return list.isEmpty() ? Collections.emptyList() : list;
            default: return list;
        }
    }

    private Object set(List<Object> list) {
        boolean ordered = !list.isEmpty() && list.get(0) instanceof Comparable;
        switch (random.nextInt(50)) {
            case 0: return new LinkedHashSet<>(list);
            case 1: return ordered ? new TreeSet<>(list) : new HashSet<>(list);
            case 2: return Set.copyOf(list);
            default: return new HashSet<>(list);
        }
    }

    private Object map(Map<Object, Object> map) {
        switch (random.nextInt(50)) {
            case 0: case 1: case 2: return new LinkedHashMap<>(map);
            case 3: return map.keySet().stream().allMatch(Comparable.class::isInstance) ? new TreeMap<>(map) : map;
            case 4: return new HashMap<>(map);
            case 5: return Map.copyOf(map);
            default: return map;
        }
    }

    private String text() {
        int what = random.nextInt(100);
        if (what < 3) {
            return "NEW"; // one instance, as constants are
        }
        if (what < 5) {
            return "";
        }
        StringBuilder text = new StringBuilder();
        int length = what < 7 ? 300 : 1 + random.nextInt(24);
        for (int i = 0; i < length; i++) {
            int kind = random.nextInt(40);
            text.appendCodePoint(kind == 0 ? 0xe4 : kind == 1 ? 0x20ac : kind == 2 && what > 95 ? 0x1f600 : 'a' + random.nextInt(26));
        }
        return text.toString();
    }

    private long number() {
        return switch (random.nextInt(4)) {
            case 0 -> random.nextInt(100);
            case 1 -> random.nextInt();
            case 2 -> 1_000_000_000L + random.nextInt(1_000_000_000);
            default -> random.nextLong() >> random.nextInt(60);
        };
    }

    private LocalDate date() {
        return LocalDate.of(1950 + random.nextInt(120), 1 + random.nextInt(12), 1 + random.nextInt(28));
    }

    private LocalTime time() {
        LocalTime time = LocalTime.of(random.nextInt(24), random.nextInt(60), random.nextInt(60), random.nextInt(1_000_000) * 1000);
        return percent(20) ? time.withNano(0) : percent(10) ? time.withNano(0).withSecond(0) : time;
    }

    private static final ZoneId[] ZONES = {ZoneId.of("Europe/Berlin"), ZoneOffset.UTC, ZoneId.of("America/New_York")};

    /** Most have milliseconds, as Kryo5Codec keeps no more. */
    private java.sql.Timestamp timestamp() {
        java.sql.Timestamp timestamp = new java.sql.Timestamp(random.nextInt(1_000_000_000));
        if (percent(10)) {
            timestamp.setNanos(random.nextInt(1_000_000_000));
        }
        return timestamp;
    }

    private Object scalar(Class<?> type) {
        if (type == Object.class) {
            type = new Class<?>[] {String.class, Integer.class, Long.class, Boolean.class, Double.class, BigDecimal.class}[random.nextInt(6)];
        }
        return switch (type.getName()) {
            case "java.lang.String" -> text();
            case "int", "java.lang.Integer" -> (int) number();
            case "long", "java.lang.Long" -> number();
            case "boolean", "java.lang.Boolean" -> random.nextBoolean();
            case "double", "java.lang.Double" -> percent(50) ? random.nextInt(100000) / 100.0 : random.nextGaussian() * 1e9;
            case "float", "java.lang.Float" -> random.nextInt(1000) / 4f;
            case "short", "java.lang.Short" -> (short) random.nextInt();
            case "byte", "java.lang.Byte" -> (byte) random.nextInt();
            case "char", "java.lang.Character" -> (char) (percent(80) ? 'A' + random.nextInt(26) : 0x20ac);
            case "java.math.BigDecimal" -> percent(10) ? BigDecimal.valueOf(random.nextInt(12)) : BigDecimal.valueOf(number(), random.nextInt(6));
            case "java.math.BigInteger" -> percent(20) ? BigInteger.valueOf(random.nextInt(16)) : new BigInteger(100, random).negate();
            case "java.util.Date" -> new Date(1_500_000_000_000L + (number() >>> 24));
            case "java.util.UUID" -> new UUID(random.nextLong(), random.nextLong());
            case "java.util.Locale" -> new Locale("de", percent(50) ? "DE" : "");
            case "java.time.Instant" -> Instant.ofEpochSecond(random.nextInt(), random.nextInt(1_000_000_000));
            case "java.time.Duration" -> Duration.ofMillis(random.nextInt());
            case "java.time.LocalDate" -> date();
            case "java.time.LocalTime" -> time();
            case "java.time.LocalDateTime" -> LocalDateTime.of(date(), time());
            case "java.time.OffsetDateTime" -> OffsetDateTime.of(date(), time(), ZoneOffset.ofHours(random.nextInt(12)));
            case "java.time.ZonedDateTime" -> ZonedDateTime.of(date(), time(), ZONES[random.nextInt(3)]);
            case "java.net.URI" -> URI.create("http://localhost/" + random.nextInt(1000));
            case "java.util.Currency" -> Currency.getInstance("EUR");
            case "java.sql.Timestamp" -> timestamp();
            case "java.time.Period" -> java.time.Period.of(random.nextInt(3), -random.nextInt(12), random.nextInt(1000));
            case "java.time.YearMonth" -> java.time.YearMonth.of(2000 + random.nextInt(50), 1 + random.nextInt(12));
            case "java.time.Year" -> java.time.Year.of(random.nextInt(4000) - 1000);
            case "java.time.MonthDay" -> java.time.MonthDay.from(date());
            case "java.time.OffsetTime" -> java.time.OffsetTime.of(time(), ZoneOffset.ofHoursMinutesSeconds(random.nextInt(12), 0, percent(20) ? 7 : 0));
            case "java.util.concurrent.atomic.AtomicLong" -> new java.util.concurrent.atomic.AtomicLong(number());
            default -> throw new IllegalArgumentException("no value of " + type);
        };
    }
}
