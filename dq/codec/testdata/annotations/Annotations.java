package demo;

import com.fasterxml.jackson.annotation.JsonAnyGetter;
import com.fasterxml.jackson.annotation.JsonProperty;
import com.fasterxml.jackson.annotation.JsonTypeInfo;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.annotation.JsonSerialize;
import com.fasterxml.jackson.databind.ser.std.ToStringSerializer;
import com.fasterxml.jackson.annotation.JacksonAnnotationsInside;
import java.io.Serializable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.util.List;
import java.util.Map;

/** Classes with annotations of Jackson. annotations.jar has them: javac --release 17 beside jackson-databind, jar. */
public class Annotations {
  public static class Field implements Serializable {
    private static final long serialVersionUID = 1;

    @JsonProperty("order_id")
    public String orderId;
  }

  public static class Getter implements Serializable {
    private static final long serialVersionUID = 1;
    private String a;

    @JsonProperty("alpha")
    public String getA() {
      return a;
    }
  }

  public record Component(@JsonProperty("p_id") String id) implements Serializable {}

  public static class Unwrapped implements Serializable {
    private static final long serialVersionUID = 1;
    @JsonUnwrapped public Plain plain;
  }

  public static class AnyGetter implements Serializable {
    private static final long serialVersionUID = 1;
    private Map<String, String> more;

    @JsonAnyGetter
    public Map<String, String> more() {
      return more;
    }
  }

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
  public static class Named implements Serializable {
    private static final long serialVersionUID = 1;
    public String a;
  }

  public static class Databind implements Serializable {
    private static final long serialVersionUID = 1;

    @JsonSerialize(using = ToStringSerializer.class)
    public Long n;
  }

  @JsonTypeInfo(use = JsonTypeInfo.Id.NAME)
  public interface Shape extends Serializable {}

  public interface Round extends Shape {}

  public static class Circle implements Round {
    private static final long serialVersionUID = 1;
    public double radius;
  }

  public static class Heir extends Field {
    private static final long serialVersionUID = 1;
    public String b;
  }

  public enum Status {
    @JsonProperty("new")
    NEW,
    PAID
  }

  public static class Holder implements Serializable {
    private static final long serialVersionUID = 1;
    public Status status;
  }

  public static class HolderOfMany implements Serializable {
    private static final long serialVersionUID = 1;
    public Map<String, List<Status>> all;
  }

  /** Names classes of Jackson, but no annotation. */
  public static class Plain implements Serializable {
    private static final long serialVersionUID = 1;
    private static final ObjectMapper MAPPER = new ObjectMapper();
    public String a;

    public String text() throws Exception {
      ObjectMapper mapper = MAPPER;
      return mapper.writeValueAsString(this);
    }
  }

  public static class Around implements Serializable {
    private static final long serialVersionUID = 1;
    public Field field;
  }

  @JacksonAnnotationsInside
  @JsonProperty("own_name")
  @Retention(RetentionPolicy.RUNTIME)
  public @interface Own {}

  public static class OfOwn implements Serializable {
    private static final long serialVersionUID = 1;
    @Own public String a;
  }

  public static class Bean implements Serializable {
    private static final long serialVersionUID = 1;
    private String secret;

    @java.beans.Transient
    public String getSecret() {
      return secret;
    }
  }
}
