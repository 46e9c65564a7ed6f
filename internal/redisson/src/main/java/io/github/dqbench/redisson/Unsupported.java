package io.github.dqbench.redisson;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.redisson.Redisson;

/** Says that the Redisson release on the class path has no such method, codec or setting. */
final class Unsupported extends RuntimeException {

    private static final long serialVersionUID = 1L;
    private static final String PROPERTIES = "/META-INF/maven/org.redisson/redisson/pom.properties";

    Unsupported(String what) {
        super(what + " does not exist in Redisson " + release());
    }

    static String release() {
        Properties properties = new Properties();
        try (InputStream in = Redisson.class.getResourceAsStream(PROPERTIES)) {
            if (in != null) {
                properties.load(in);
            }
        } catch (IOException e) {
            // it stays unknown
        }
        return properties.getProperty("version", "unknown");
    }
}
