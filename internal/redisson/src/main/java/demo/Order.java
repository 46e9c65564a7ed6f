package demo;

import java.io.Serializable;
import java.util.Objects;

/** The value class that shows how each codec writes an object; its name and fields are part of the bytes. */
public class Order implements Serializable {

    private static final long serialVersionUID = 1L;

    public int id;
    public String name;
    public Long total;

    public Order() {
    }

    public Order(int id, String name, Long total) {
        this.id = id;
        this.name = name;
        this.total = total;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Order order
                && id == order.id && Objects.equals(name, order.name) && Objects.equals(total, order.total);
    }

    @Override
    public int hashCode() {
        return Objects.hash(id, name, total);
    }

    @Override
    public String toString() {
        return "Order{id=" + id + ", name=" + name + ", total=" + total + "}";
    }
}
