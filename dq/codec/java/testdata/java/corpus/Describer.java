package corpus;

import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Date;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Describes a value in the words of describe in corpus_test.go; a collection by its elements. */
final class Describer {

    static String describe(Object value) throws ReflectiveOperationException {
        if (value == null) {
            return "null";
        }
        if (value instanceof byte[] bytes) {
            return "bytes " + HexFormat.of().formatHex(bytes);
        }
        if (value.getClass().isArray()) {
            List<Object> all = new ArrayList<>();
            for (int i = 0; i < Array.getLength(value); i++) {
                all.add(Array.get(value, i));
            }
            return list(all, false);
        }
        if (value instanceof Collection<?> collection) {
            return list(collection, value instanceof Set);
        }
        if (value instanceof Map<?, ?> map) {
            Map<String, String> sorted = new TreeMap<>();
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                sorted.put(describe(entry.getKey()), describe(entry.getValue()));
            }
            List<String> entries = new ArrayList<>();
            sorted.forEach((key, content) -> entries.add(key + ":" + content));
            return "{" + String.join(",", entries) + "}";
        }
        if (value instanceof Enum<?> constant) {
            return "enum " + constant.name();
        }
        if (value.getClass().getName().startsWith("acme.")) {
            return object(value);
        }
        return scalar(value);
    }

    private static String list(Collection<?> all, boolean isSet) throws ReflectiveOperationException {
        List<String> parts = new ArrayList<>();
        for (Object element : all) {
            parts.add(describe(element));
        }
        if (isSet) {
            Collections.sort(parts);
        }
        return "[" + String.join(",", parts) + "]";
    }

    private static String object(Object value) throws ReflectiveOperationException {
        Map<String, String> fields = new TreeMap<>();
        for (Field field : Filler.fields(value.getClass())) {
            if (!field.isAnnotationPresent(LeftOut.class) && !Modifier.isTransient(field.getModifiers())) {
                fields.put(field.getName(), describe(field.get(value)));
            }
        }
        List<String> parts = new ArrayList<>();
        fields.forEach((name, content) -> parts.add(name + "=" + content));
        return value.getClass().getName() + "{" + String.join(",", parts) + "}";
    }

    private static String scalar(Object value) {
        if (value instanceof String text) {
            return "text " + HexFormat.of().formatHex(text.getBytes(java.nio.charset.StandardCharsets.UTF_8));
        }
        if (value instanceof Double number) {
            return "double " + Long.toHexString(Double.doubleToLongBits(number));
        }
        if (value instanceof Float number) {
            return "float " + Integer.toHexString(Float.floatToIntBits(number));
        }
        if (value instanceof Character unit) {
            return "char " + (int) unit;
        }
        if (value instanceof java.sql.Timestamp timestamp) {
            return "Timestamp " + timestamp.toInstant().getEpochSecond() + " " + timestamp.getNanos();
        }
        if (value instanceof Date date) {
            return "Date " + date.getTime();
        }
        if (value instanceof Instant instant) {
            return "Instant " + instant.getEpochSecond() + " " + instant.getNano();
        }
        if (value instanceof Duration duration) {
            return "Duration " + duration.toNanos();
        }
        return value.getClass().getSimpleName() + " " + value;
    }

    private Describer() {
    }
}
