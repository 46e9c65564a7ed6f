package io.github.dqbench.redisson;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * redis://[[user]:password@]host:port[/db], rediss://, redis+cluster://host:port,host:port and
 * redis+sentinel://host:port,host:port/master[/db].
 */
record RedisUrl(Mode mode, boolean tls, String username, String password, String[] hosts, String master, int database) {

    enum Mode { SINGLE, CLUSTER, SENTINEL }

    private static final String DEFAULT_PORT = "6379";

    static RedisUrl parse(String url) {
        int scheme = url.indexOf("://");
        if (scheme < 0) {
            throw malformed(url);
        }
        String kind = url.substring(0, scheme);
        Mode mode = switch (kind) {
            case "redis", "rediss" -> Mode.SINGLE;
            case "redis+cluster", "rediss+cluster" -> Mode.CLUSTER;
            case "redis+sentinel", "rediss+sentinel" -> Mode.SENTINEL;
            default -> throw malformed(url);
        };
        String rest = url.substring(scheme + 3).replaceFirst("\\?.*", "");
        int slash = rest.indexOf('/');
        String authority = slash < 0 ? rest : rest.substring(0, slash);
        String[] path = (slash < 0 ? "" : rest.substring(slash + 1)).split("/");

        int at = authority.lastIndexOf('@');
        String[] credentials = at < 0 ? new String[0] : authority.substring(0, at).split(":", 2);
        String[] hosts = authority.substring(at + 1).split(",");
        if (mode == Mode.SENTINEL && path[0].isEmpty()) {
            throw malformed(url);
        }
        String database = mode == Mode.SENTINEL ? (path.length > 1 ? path[1] : "") : path[0];
        return new RedisUrl(mode, kind.startsWith("rediss"), credential(credentials, 0), credential(credentials, 1),
                hosts, mode == Mode.SENTINEL ? path[0] : null, database.isEmpty() ? 0 : Integer.parseInt(database));
    }

    String[] addresses(boolean withScheme) {
        String prefix = withScheme ? (tls ? "rediss://" : "redis://") : "";
        return Arrays.stream(hosts)
                .map(host -> prefix + (host.matches(".*:\\d+") ? host : host + ":" + DEFAULT_PORT))
                .toArray(String[]::new);
    }

    private static String credential(String[] credentials, int index) {
        if (credentials.length <= index || credentials[index].isEmpty()) {
            return null;
        }
        return URLDecoder.decode(credentials[index].replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    private static IllegalArgumentException malformed(String url) {
        return new IllegalArgumentException("redis URL \"" + url + "\", want redis://host:port[/db], rediss://..., "
                + "redis+cluster://host:port,... or redis+sentinel://host:port,.../master");
    }
}
