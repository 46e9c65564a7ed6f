package demo;

import java.io.Serializable;
import java.util.Date;

/** Public, since the serialVersionUID of its arrays depends on that. */
public class DateBean implements Serializable {
    private static final long serialVersionUID = 50L;
    Date value;
    String zz;
}
