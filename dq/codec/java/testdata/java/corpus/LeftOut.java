package corpus;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/** A field of a type that Go has none for: the Go struct leaves it out. */
@Retention(RetentionPolicy.RUNTIME)
public @interface LeftOut {
}
