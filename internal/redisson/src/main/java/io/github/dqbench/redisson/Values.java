package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import demo.Order;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

/** Typed JSON values, so that a codec sees the Java type the caller means. */
final class Values {

    private Values() {
    }

    static Object fromJson(JsonNode node) {
        if (node == null || node.isNull()) {
            return null;
        }
        String type = node.path("t").asText();
        JsonNode value = node.path("v");
        return switch (type) {
            case "string" -> value.asText();
            case "int" -> Integer.valueOf(value.asText());
            case "long" -> Long.valueOf(value.asText());
            case "double" -> Double.valueOf(value.asText());
            case "bool" -> value.asBoolean();
            case "bytes" -> Base64.getDecoder().decode(value.asText());
            case "pojo" -> new Order(node.path("id").asInt(), text(node.get("name")), number(node.get("total")));
            default -> throw new IllegalArgumentException(
                    "value type \"" + type + "\", want string, int, long, double, bool, bytes or pojo");
        };
    }

    static List<Object> listFromJson(JsonNode nodes) {
        List<Object> values = new ArrayList<>();
        for (JsonNode node : nodes) {
            values.add(fromJson(node));
        }
        return values;
    }

    /** The typed form of a value that came out of a codec; null for null. */
    static ObjectNode toJson(Object value) {
        if (value == null) {
            return null;
        }
        ObjectNode node = Protocol.JSON.createObjectNode();
        if (value instanceof String s) {
            node.put("t", "string").put("v", s);
        } else if (value instanceof Integer i) {
            node.put("t", "int").put("v", i);
        } else if (value instanceof Long l) {
            node.put("t", "long").put("v", l.toString());
        } else if (value instanceof Double d) {
            node.put("t", "double").put("v", d);
        } else if (value instanceof Boolean b) {
            node.put("t", "bool").put("v", b);
        } else if (value instanceof byte[] bytes) {
            node.put("t", "bytes").put("v", Base64.getEncoder().encodeToString(bytes));
        } else if (value instanceof Order order) {
            node.put("t", "pojo").put("id", order.id).put("name", order.name)
                    .put("total", order.total == null ? null : order.total.toString());
        } else {
            node.put("t", "other").put("class", value.getClass().getName()).put("v", value.toString());
        }
        return node;
    }

    static ArrayNode listToJson(Iterable<?> values) {
        if (values == null) {
            return null;
        }
        ArrayNode nodes = Protocol.JSON.createArrayNode();
        for (Object value : values) {
            nodes.add(toJson(value));
        }
        return nodes;
    }

    /** The Java class behind a value type, for codecs that must be told. */
    static Class<?> javaClass(String type) {
        return switch (type) {
            case "string" -> String.class;
            case "int" -> Integer.class;
            case "long" -> Long.class;
            case "double" -> Double.class;
            case "bool" -> Boolean.class;
            case "bytes" -> byte[].class;
            case "pojo" -> Order.class;
            default -> throw new IllegalArgumentException(
                    "value type \"" + type + "\", want string, int, long, double, bool, bytes or pojo");
        };
    }

    private static String text(JsonNode node) {
        return node == null || node.isNull() ? null : node.asText();
    }

    private static Long number(JsonNode node) {
        return node == null || node.isNull() ? null : Long.valueOf(node.asText());
    }
}
