package demo;

import java.io.Serializable;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.Currency;
import java.util.Date;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.UUID;
import org.redisson.client.codec.Codec;

/**
 * Writes objects that share what they hold in Marshalling and Serialization, reads them with the one and writes them with
 * the other: codec, bytes, the other codec, its bytes.
 */
public final class Shared {

    enum State { OPEN, CLOSED }

    enum Other { OPEN }

    static class Node implements Serializable {
        private static final long serialVersionUID = 70L;
        Object a;
        Object b;
        Object c;
        Object[] array;
        Node next;
        String s;
        String t;
        List<Object> list;
        Map<Object, Object> map;
        Date date;
        Integer number;
        int n;
    }

    private final Random random;
    private final List<Object> pool = new ArrayList<>();

    private Shared(long seed) {
        random = new Random(seed);
    }

    private Object value(int depth) {
        if (!pool.isEmpty() && random.nextInt(3) == 0) {
            return pool.get(random.nextInt(pool.size()));
        }
        Object made = make(depth);
        if (pool.stream().noneMatch(had -> had == made)) {
            pool.add(made);
        }
        return made;
    }

    private <T> T one(Class<T> of, int depth) {
        for (int i = 0; i < 12; i++) {
            Object value = value(depth);
            if (of.isInstance(value)) {
                return of.cast(value);
            }
        }
        return null;
    }

    private Object make(int depth) {
        switch (random.nextInt(depth > 3 ? 16 : 24)) {
            case 0: return new String("text " + random.nextInt(3));
            case 1: return new Date(random.nextInt(1000));
            case 2: return Integer.valueOf(random.nextInt(300));
            case 3: return Long.valueOf(random.nextInt(300));
            case 4: return random.nextBoolean() ? State.OPEN : State.CLOSED;
            case 5: return Other.OPEN;
            case 6: return new byte[] {1, 2};
            case 7: return new UUID(random.nextInt(), 2);
            case 8: return new BigDecimal(random.nextInt(40) + ".5");
            case 9: return BigInteger.valueOf(random.nextInt(40));
            case 10: return LocalDate.of(2020, 1, 1 + random.nextInt(5));
            case 11: return "";
            case 12: return new Locale("en", random.nextBoolean() ? "US" : "GB");
            case 13: return Currency.getInstance(random.nextBoolean() ? "EUR" : "USD");
            case 14: return "OPEN";
            case 15: return new int[] {3};
            case 16: return fill(new ArrayList<>(), depth);
            case 17: return fill(new LinkedList<>(), depth);
            case 18: return "s";
            case 19: return fill(new HashMap<>(), depth);
            case 20: return fill(new TreeMap<>(), depth);
            case 21: return new String[] {one(String.class, depth), one(String.class, depth)};
            case 22: return new java.util.TreeSet<>(List.of("k" + random.nextInt(4), "j"));
            default: return node(depth);
        }
    }

    private List<Object> fill(List<Object> list, int depth) {
        pool.add(0, list);
        for (int n = random.nextInt(4); n > 0; n--) {
            list.add(value(depth + 1));
        }
        return list;
    }

    private Map<Object, Object> fill(Map<Object, Object> map, int depth) {
        for (int n = random.nextInt(4); n > 0; n--) {
            map.put("key " + random.nextInt(5), value(depth + 1));
        }
        return map;
    }

    private Node node(int depth) {
        Node node = new Node();
        pool.add(node);
        node.a = value(depth + 1);
        node.b = value(depth + 1);
        node.c = random.nextInt(5) == 0 ? node : value(depth + 1);
        node.array = one(Object[].class, depth + 1);
        node.next = one(Node.class, depth + 1);
        node.s = one(String.class, depth + 1);
        node.t = one(String.class, depth + 1);
        List<Object> list = one(List.class, depth + 1);
        node.list = list;
        Map<Object, Object> map = one(Map.class, depth + 1);
        node.map = map;
        node.date = one(Date.class, depth + 1);
        node.number = one(Integer.class, depth + 1);
        return node;
    }

    public static void main(String[] args) throws Exception {
        Codec[] codecs = {Wire.codec("marshalling", null), Wire.codec("serialization", null)};
        String[] names = {"marshalling", "serialization"};
        for (int seed = 0; seed < Integer.parseInt(args[0]); seed++) {
            Object value = new Shared(seed).node(0);
            for (int from = 0; from < 2; from++) {
                byte[] first = Wire.encode(codecs[from], value);
                byte[] second = Wire.encode(codecs[1 - from], Wire.decode(codecs[from], first));
                System.out.println(names[from] + "\t" + HexFormat.of().formatHex(first) + "\t" + names[1 - from] + "\t" + HexFormat.of().formatHex(second));
            }
        }
    }
}
