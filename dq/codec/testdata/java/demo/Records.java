package demo;

import java.io.Serializable;
import java.util.Date;
import java.util.List;
import java.util.Map;

/** Records and subclasses of fields.json. */
final class Records {
}

record PlainRecord(int number, String text, Long total, Date at, List<String> tags, Map<String, Long> counts, Color color, boolean done)
        implements Serializable {
}

class BaseBean implements Serializable {
    private static final long serialVersionUID = 60L;
    Date created;
    Color color;
    long version;
}

class OrderBean extends BaseBean {
    private static final long serialVersionUID = 61L;
    java.math.BigDecimal total;
    java.util.Set<String> tags;
    OrderBean parent;
    List<List<Long>> matrix;
}
