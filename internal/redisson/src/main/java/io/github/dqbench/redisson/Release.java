package io.github.dqbench.redisson;

import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import org.redisson.Redisson;

/** The Redisson release on the class path. */
final class Release {

    private static final String PROPERTIES = "/META-INF/maven/org.redisson/redisson/pom.properties";

    private Release() {
    }

    static String version() {
        try (InputStream in = Redisson.class.getResourceAsStream(PROPERTIES)) {
            Properties properties = new Properties();
            if (in != null) {
                properties.load(in);
            }
            return properties.getProperty("version", "unknown");
        } catch (IOException e) {
            return "unknown";
        }
    }
}
