package io.github.dqbench.redisson;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** A method that only some releases have, looked up once by its interface and parameter types. */
final class Reflect {

    private final String name;
    private final Method method;

    private Reflect(String name, Method method) {
        this.name = name;
        this.method = method;
    }

    static Reflect method(Class<?> owner, String name, Class<?>... parameters) {
        String full = owner.getSimpleName() + "." + name;
        try {
            return new Reflect(full, owner.getMethod(name, parameters));
        } catch (NoSuchMethodException e) {
            return new Reflect(full, null);
        }
    }

    boolean present() {
        return method != null;
    }

    /** Calls the method and throws what it throws; {@link Unsupported} where the release lacks it. */
    Object call(Object target, Object... arguments) throws Throwable {
        if (method == null) {
            throw new Unsupported(name);
        }
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
