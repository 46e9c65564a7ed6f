package demo;

import java.io.Serializable;
import java.util.AbstractList;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;

/** Classes of which codecs write something else than their fields. gaps.jar has them: javac --release 17, jar. */
public class Gaps {
  public abstract static class Bag implements Collection<String>, Serializable {
    public String other;
  }

  public abstract static class Heir extends Bag {}

  public interface Dictionary extends SortedMap<String, String> {}

  public abstract static class Words implements Dictionary, Serializable {}

  public abstract static class Row extends AbstractList<String> implements Serializable {}

  public abstract static class Pair implements Map.Entry<String, String>, Iterable<String>, Serializable {}

  public static class Holder implements Serializable {
    public List<Heir> all;
    public Bag bag;
    public Spoken spoken;
  }

  public enum Spoken {
    ONE;

    @Override
    public String toString() {
      return "one";
    }
  }

  public enum Plain {
    ONE
  }

  public static class Defaults implements Serializable {
    public int n = 3;
    public List<String> tags = new ArrayList<>();
    public String text;
  }

  public static class Outer implements Serializable {
    public int n;
    public Inner inner;

    public class Inner implements Serializable {
      public String s;

      public Inner() {}
    }
  }

  public static class Final implements Serializable {
    public final int n;

    public Final() {
      n = 3;
    }
  }

  public static class Made implements Serializable {
    public int n;

    public Made(int n) {
      this.n = n;
    }
  }

  public static class Numbers implements Serializable {
    public List<Number> all;
    public Number one;
  }

  public static class Maps implements Serializable {
    public Map<String, Integer> map;
  }

  public static class Later extends Defaults {
    public int m;
  }
}
