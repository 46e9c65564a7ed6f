package corpus;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A field that is never null, so that the Go struct needs no pointer for it. */
@Retention(RetentionPolicy.RUNTIME)
public @interface Always {
}
