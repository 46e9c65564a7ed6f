import java.io.*;
import java.lang.reflect.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import java.util.regex.*;
import java.util.stream.*;

/**
 * Reads and writes values with Redisson's own codecs and the application's classes, so that each answer is what a service would
 * read. One JSON object a line on stdin, one answer a line on stdout, in the same order; it ends at the end of stdin.
 *
 *   {"id":1,"verb":"hello","classpath":LINES,"old":LINES,"new":LINES,"from":"marshalling","to":"kryo5"}
 *       {"id":1,"ok":true,"java":"17.0.15","old":"3.16.6","new":"4.7.0","old_codecs":[…],"new_codecs":[…]}
 *   {"id":2,"verb":"decode","codec":"marshalling","value":BASE64}    {"id":2,"ok":true,"class":"acme.Order","json":{…},"same":true}
 *   {"id":3,"verb":"recode","codec":"marshalling","to":"kryo5",…}    {"id":3,"ok":true,"value":BASE64}
 *   {"id":4,"verb":"encode","codec":"kryo5","json":"{\"@class\":…"}  {"id":4,"ok":true,"value":BASE64}
 *   {"id":5,"verb":"gotypes","class":"acme.Order acme.Refund"}       {"id":5,"ok":true,"source":"package messages…"}
 *
 * hello comes first. classpath has the jars and folders of the application, a path or a class path a line; "lib/*" is all jars of
 * lib, and the classes and libraries within a Spring Boot jar, or a war, are unpacked to a temporary folder. old and new are the
 * jars of the Redisson that writes today and of the one that will read; empty for the Redisson of the class path. from and to are the
 * codecs of recode, empty without one: what will read is as far from the packages of the JDK as in a service, where Java opens them
 * only by its flags. The argument of the program is a folder for temporary files, which goes at the end.
 *
 * decode reads with the old Redisson. recode reads with the old one and writes with the new one; encode reads JSON of
 * JsonJacksonCodec. What they write is read again and compared, classes too. gotypes writes the Go types of classes.
 *
 * A refusal is {"id":3,"ok":false,"reason":…,"missing":[classes that were not found]}; a value that would be read as another one has
 * "was" and "becomes" too. A codec is a name as below, "lz4/kryo5", or the name of a class of one's own; typed-json needs "class".
 */
public final class JavaValues {
    private static final Map<String, String> CODECS = pairs("string=client.codec.StringCodec bytes=client.codec.ByteArrayCodec long=client.codec.LongCodec "
            + "json=codec.JsonJacksonCodec typed-json=codec.TypedJsonJacksonCodec json3=codec.JsonJackson3Codec typed-json3=codec.TypedJsonJackson3Codec "
            + "kryo5=codec.Kryo5Codec marshalling=codec.MarshallingCodec serialization=codec.SerializationCodec fst=codec.FstCodec cbor=codec.CborJacksonCodec "
            + "msgpack=codec.MsgPackJacksonCodec smile=codec.SmileJacksonCodec lz4=codec.LZ4Codec lz4-v2=codec.LZ4CodecV2 snappy=codec.SnappyCodec "
            + "snappy-v2=codec.SnappyCodecV2 zstd=codec.ZStdCodec");
    private static final int LONGEST = 16 << 20; // characters of a value as JSON: shared places multiply
    private static final Set<String> MISSING = new TreeSet<>();
    private static volatile long answered;
    private static Path folder; // of files that go at the end
    private static Redisson old, young;

    public static void main(String[] args) throws Exception {
        folder = args.length > 0 ? Path.of(args[0]) : Files.createTempDirectory("dq-bench-values");
        System.setProperty("java.io.tmpdir", folder.toString()); // libraries of codecs unpack there
        PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), false, StandardCharsets.UTF_8);
        System.setOut(System.err); // for prints of codecs and loggers
        BlockingQueue<Optional<String>> requests = new LinkedBlockingQueue<>();
        Thread reader = new Thread(() -> read(requests));
        reader.setDaemon(true);
        reader.start();
        for (Optional<String> line = requests.take(); line.isPresent() && !answers.checkError(); line = requests.take()) {
            String text = answer(members(line.get()));
            answers.println(text);
            answered++;
            if (requests.isEmpty()) {
                answers.flush();
            }
        }
        answers.flush();
        halt();
    }

    /** Reads requests. After their end, an answer that takes more than a minute ends the program: nobody waits for it. */
    private static void read(BlockingQueue<Optional<String>> requests) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                requests.add(Optional.of(line));
            }
        } catch (IOException e) {
            System.err.println(e);
        }
        requests.add(Optional.empty());
        for (long before = -1; before != answered;) {
            before = answered;
            try {
                Thread.sleep(60_000);
            } catch (InterruptedException e) {
                break;
            }
        }
        halt();
    }

    private static synchronized void halt() {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException | UncheckedIOException e) {
            System.err.println(e);
        }
        Runtime.getRuntime().halt(0);
    }

    private static String answer(Map<String, String> request) {
        Json answer = new Json(false).open("{").put("id", Long.valueOf(request.getOrDefault("id", "0")));
        int begin = answer.out.length();
        MISSING.clear();
        try {
            answer(request, answer.put("ok", true));
        } catch (Throwable e) {
            Throwable cause = e;
            while (cause.getCause() != null && cause.getCause() != cause && !cause.getCause().getClass().getSimpleName().equals("TraceInformation")) {
                cause = cause.getCause();
            }
            if ((cause instanceof ClassNotFoundException || cause instanceof NoClassDefFoundError) && cause.getMessage().matches("[\\w$./]+")) {
                MISSING.add(cause.getMessage().replace('/', '.')); // not looked for anew
            }
            answer.out.setLength(begin);
            answer.put("ok", false).put("reason", reasonOf(cause)).putAll("missing", MISSING);
            if (cause instanceof Refused refused && refused.was != null) {
                answer.put("was", shortened(refused.was)).put("becomes", shortened(refused.becomes));
            }
        }
        return answer.close("}").toString();
    }

    private static String reasonOf(Throwable cause) {
        String text = (cause instanceof Refused ? cause.getMessage() : cause.toString()).strip().replaceAll("\\s*\n\\s*", " ");
        text = text.length() <= 400 ? text : text.substring(0, 400) + "…";
        Matcher closed = Pattern.compile("module (\\S+) does not \"opens (\\S+)\"").matcher(text);
        if (closed.find()) {
            String flag = "--add-opens=" + closed.group(1) + "/" + closed.group(2) + "=ALL-UNNAMED";
            text = "a service on Java 17 reads it only with " + flag + "; if yours has it: DQ_JAVA='java " + flag + "'";
        }
        return text;
    }

    private static void answer(Map<String, String> request, Json answer) throws Exception {
        String codec = request.get("codec"), type = request.getOrDefault("class", "");
        switch (request.getOrDefault("verb", "")) {
            case "hello" -> {
                URL[] before = urls(request.getOrDefault("old", "")), after = urls(request.getOrDefault("new", ""));
                Stream<URL> annotations = Stream.of(after, before).flatMap(Arrays::stream).filter(jar -> jar.getPath().contains("jackson-annotations"));
                ClassLoader application = new URLClassLoader(Stream.concat(Arrays.stream(urls(request.getOrDefault("classpath", ""))), annotations).toArray(URL[]::new),
                        JavaValues.class.getClassLoader());
                old = new Redisson(before, application);
                young = new Redisson(after, application);
                if (old.getURLs().length > 0 || request.getOrDefault("to", "").isEmpty() || reflects(request.get("from"))) {
                    old.open();
                }
                if (reflects(request.getOrDefault("to", ""))) {
                    young.open();
                }
                answer.put("java", System.getProperty("java.version")).put("old", old.version()).put("new", young.version())
                        .putAll("old_codecs", old.available()).putAll("new_codecs", young.available());
            }
            case "decode" -> {
                byte[] bytes = Base64.getDecoder().decode(request.get("value"));
                Object value = old.decode(codec, type, bytes);
                answer.put("class", value == null ? null : value.getClass().getName()).name("json").value(value, 0);
                answer.put("same", Arrays.equals(bytes, old.encode(codec, type, value)));
            }
            case "recode" -> answer.put("value", young.encodeAndCompare(request.get("to"), type, old.decode(codec, type, Base64.getDecoder().decode(request.get("value")))));
            case "encode" -> answer.put("value", young.encodeAndCompare(codec, type, young.decode("json", "", request.get("json").getBytes(StandardCharsets.UTF_8))));
            case "gotypes" -> {
                List<Class<?>> classes = new ArrayList<>();
                for (String name : type.split(" ")) {
                    classes.add(Class.forName(name, false, young));
                }
                answer.put("source", new GoTypes().write(request.getOrDefault("package", "messages"), classes));
            }
            default -> throw new Refused("expected the verb hello, decode, recode, encode or gotypes, got " + request.get("verb"));
        }
    }

    /** The files of a class path, those within a Spring Boot jar or a war unpacked. */
    private static URL[] urls(String lines) throws IOException {
        List<URL> urls = new ArrayList<>();
        for (String path : lines.isEmpty() ? new String[0] : lines.split("\n|" + File.pathSeparator)) {
            List<File> files = List.of(new File(path));
            if (path.endsWith("*")) {
                File[] jars = new File(path.substring(0, path.length() - 1)).listFiles((folder, name) -> name.toLowerCase(Locale.ROOT).endsWith(".jar"));
                files = jars == null ? List.of() : Arrays.stream(jars).sorted().toList();
            }
            if (files.isEmpty() || !files.get(0).exists()) {
                throw new Refused("no such file: " + path);
            }
            for (File file : files) {
                if (file.isDirectory() || !unpack(file, urls)) {
                    urls.add(file.toURI().toURL());
                }
            }
        }
        return urls.toArray(URL[]::new);
    }

    private static boolean unpack(File jar, List<URL> urls) throws IOException {
        try (java.util.zip.ZipFile zip = new java.util.zip.ZipFile(jar)) {
            List<? extends java.util.zip.ZipEntry> inside = zip.stream().filter(e -> e.getName().matches("(BOOT|WEB)-INF/(classes/.*|lib/[^/]*\\.jar)")).toList();
            if (inside.isEmpty()) {
                return false;
            }
            Path to = Files.createTempDirectory(folder.toRealPath(), "jar");
            int first = urls.size();
            for (java.util.zip.ZipEntry entry : inside) {
                Path file = to.resolve(entry.getName()).normalize();
                if (!entry.isDirectory() && file.startsWith(to)) {
                    Files.createDirectories(file.getParent());
                    try (InputStream from = zip.getInputStream(entry)) {
                        Files.copy(from, file);
                    }
                    if (file.getParent().endsWith("lib")) {
                        urls.add(file.toUri().toURL());
                    }
                }
            }
            for (String classes : new String[] {"WEB-INF/classes", "BOOT-INF/classes"}) {
                if (Files.isDirectory(to.resolve(classes))) {
                    urls.add(first, to.resolve(classes).toUri().toURL());
                }
            }
            return true;
        } catch (java.util.zip.ZipException e) {
            throw new Refused(jar + " is neither a jar nor a folder: " + e.getMessage());
        }
    }

    private static final class Refused extends RuntimeException {
        final String was, becomes;

        Refused(String reason) {
            this(reason, null, null);
        }

        Refused(String reason, String was, String becomes) {
            super(reason);
            this.was = was;
            this.becomes = becomes;
        }
    }

    /** A Redisson and its libraries, in front of the application's class path: so two releases share the classes of one application. */
    private static final class Redisson extends URLClassLoader {
        private static final String[] OWN = {"org.redisson.", "io.netty.", "com.esotericsoftware.", "org.objenesis.", "org.jboss.", "org.nustaq.", "net.jpountz.", "org.xerial."};
        private final Map<String, Object> codecs = new HashMap<>();
        private final Map<String, Method> methods = new HashMap<>();
        private boolean opened;

        Redisson(URL[] jars, ClassLoader application) {
            super(jars, application);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                if (known == null && Arrays.stream(OWN).anyMatch(name::startsWith) && findResource(name.replace('.', '/') + ".class") != null) {
                    known = findClass(name);
                }
                try {
                    return known != null ? known : super.loadClass(name, resolve);
                } catch (ClassNotFoundException e) {
                    MISSING.add(name);
                    throw e;
                }
            }
        }

        private Object codec(String name, String type) throws ReflectiveOperationException {
            Thread.currentThread().setContextClassLoader(this);
            String key = name + " " + type;
            Object codec = codecs.get(key);
            if (codec == null) {
                String[] parts = name.split("/", 2);
                Class<?> c = Class.forName(CODECS.containsKey(parts[0]) ? "org.redisson." + CODECS.get(parts[0]) : parts[0], true, this);
                if (parts.length == 2) {
                    codec = c.getConstructor(loadClass("org.redisson.client.codec.Codec")).newInstance(codec(parts[1], type));
                } else if (name.startsWith("typed-json")) {
                    if (type.isEmpty()) {
                        throw new Refused("the bytes of " + name + " do not name the class of the value: name it");
                    }
                    codec = c.getConstructor(Class.class).newInstance(Class.forName(type, false, this));
                } else if (Arrays.stream(c.getConstructors()).anyMatch(k -> Arrays.equals(k.getParameterTypes(), new Class<?>[] {ClassLoader.class}))) {
                    codec = c.getConstructor(ClassLoader.class).newInstance(this);
                } else {
                    codec = c.getConstructor().newInstance();
                }
                codecs.put(key, codec);
                MISSING.clear(); // optional classes of the codec
            }
            return codec;
        }

        /** Opens the JDK to these classes and the application's; to this program java.lang is open. */
        void open() throws ReflectiveOperationException {
            Method opens = Module.class.getDeclaredMethod("implAddOpens", String.class, Module.class);
            opens.setAccessible(true);
            for (Module module : ModuleLayer.boot().modules()) {
                for (String name : module.getPackages()) {
                    opens.invoke(module, name, getUnnamedModule());
                    opens.invoke(module, name, getParent().getUnnamedModule());
                }
            }
            opened = true;
        }

        /** Calls a method of an interface of Redisson or netty. */
        private Object call(String type, Object on, String method, Object... args) throws ReflectiveOperationException {
            String key = type + method + Arrays.toString(Arrays.stream(args).map(arg -> arg == null ? null : arg.getClass()).toArray());
            if (methods.containsKey(key)) {
                return methods.get(key).invoke(on, args);
            }
            for (Method m : loadClass(type).getMethods()) {
                boolean fits = m.getName().equals(method) && m.getParameterCount() == args.length;
                for (int i = 0; fits && i < args.length; i++) {
                    fits = m.getParameterTypes()[i] == Object.class || args[i] != null && m.getParameterTypes()[i].isInstance(args[i]);
                }
                if (fits) {
                    methods.put(key, m);
                    return m.invoke(on, args);
                }
            }
            throw new NoSuchMethodException(type + "." + method);
        }

        Object decode(String name, String of, byte[] bytes) throws ReflectiveOperationException {
            Object decoder = call("org.redisson.client.codec.Codec", codec(name, of), "getValueDecoder");
            Constructor<?> state = loadClass("org.redisson.client.handler.State").getConstructors()[0]; // to 3.10.0 it takes a flag
            Object buffer = call("io.netty.buffer.Unpooled", null, "wrappedBuffer", (Object) bytes);
            return call("org.redisson.client.protocol.Decoder", decoder, "decode", buffer, state.getParameterCount() == 0 ? state.newInstance() : state.newInstance(false));
        }

        byte[] encode(String name, String of, Object value) throws ReflectiveOperationException {
            Object encoded = call("org.redisson.client.protocol.Encoder", call("org.redisson.client.codec.Codec", codec(name, of), "getValueEncoder"), "encode", value);
            if (encoded instanceof byte[] bytes) { // to 3.6
                return bytes;
            }
            byte[] bytes = new byte[(int) call("io.netty.buffer.ByteBuf", encoded, "readableBytes")];
            call("io.netty.buffer.ByteBuf", encoded, "readBytes", (Object) bytes);
            call("io.netty.util.ReferenceCounted", encoded, "release");
            return bytes;
        }

        /** Fails for a value that would be read as another one. */
        byte[] encodeAndCompare(String name, String of, Object value) throws ReflectiveOperationException {
            String was = new Json(true).value(value, 0).toString();
            byte[] bytes = encode(name, of, value);
            String becomes = new Json(true).value(decode(name, of, bytes), 0).toString();
            if (!was.equals(becomes)) {
                throw new Refused("it would be read as another value", was, becomes);
            }
            return bytes;
        }

        /** The codecs that work here: some lack a library, which shows only when they write. */
        List<String> available() {
            return CODECS.keySet().stream().filter(name -> opened || !reflects(name)).filter(name -> {
                try {
                    return encode(name, "java.lang.String", name.equals("bytes") ? new byte[1] : name.equals("long") ? (Object) 1L : "x") != null;
                } catch (ReflectiveOperationException | LinkageError e) {
                    return false;
                }
            }).toList();
        }

        String version() {
            URL jar = getResource("org/redisson/Redisson.class");
            return jar == null ? "" : jar.getPath().replaceAll(".*redisson-(?:all-)?([0-9.]+)\\.jar.*", "$1");
        }
    }

    /** Writes the Go types of classes, as package java of dq takes them: a class with type parameters has one for each use. */
    private static final class GoTypes {
        private static final Map<String, String> TYPES = pairs("boolean=bool byte=int8 short=int16 char=uint16 int=int32 long=int64 float=float32 double=float64 "
                + "java.lang.Boolean=*bool java.lang.Byte=*int8 java.lang.Short=*int16 java.lang.Character=*uint16 java.lang.Integer=*int32 java.lang.Long=*int64 "
                + "java.lang.Float=*float32 java.lang.Double=*float64 java.lang.String=*string java.math.BigInteger=*big.Int java.math.BigDecimal=*java.Decimal "
                + "java.time.Instant=*time.Time java.time.Duration=*time.Duration java.util.UUID=*java.UUID java.util.Date=*java.Date java.sql.Timestamp=*java.Timestamp "
                + "java.time.LocalDate=*java.LocalDate java.time.LocalTime=*java.LocalTime java.time.LocalDateTime=*java.LocalDateTime "
                + "java.time.OffsetDateTime=*java.OffsetDateTime java.time.ZonedDateTime=*java.ZonedDateTime java.net.URI=*java.URI java.util.Currency=*java.Currency "
                + "java.util.Locale=*java.Locale java.time.OffsetTime=*java.OffsetTime java.time.Year=*java.Year java.time.YearMonth=*java.YearMonth "
                + "java.time.MonthDay=*java.MonthDay java.time.Period=*java.Period");
        private final Map<String, String> names = new LinkedHashMap<>(); // of Go types, by Java type
        private final StringBuilder source = new StringBuilder(), list = new StringBuilder();

        String write(String pkg, List<Class<?>> roots) {
            for (Class<?> root : roots) {
                if (!root.isEnum() && jdkSuper(root) != null) {
                    throw new Refused("no Go type for " + root.getName() + ": it extends " + jdkSuper(root).getName());
                }
                named(root, Map.of());
            }
            String body = source + "\n// Classes are what the constructor of a codec takes.\nvar Classes = []java.Class{\n" + list + "}\n";
            String imports = Stream.of("math/big", "time").filter(path -> body.contains("*" + path.replaceAll(".*/", "") + ".")).map(path -> "\t\"" + path + "\"\n")
                    .collect(Collectors.joining());
            return "package " + pkg + "\n\nimport (\n" + imports + "\n\t\"github.com/dq-bench/dq-bench/dq/codec/java\"\n)\n" + body;
        }

        /** The name of the Go type of a class of the application; bound has the arguments of type parameters, also of outer uses. */
        private String named(Type type, Map<TypeVariable<?>, Type> bound) {
            Class<?> c = raw(type, bound);
            Map<TypeVariable<?>, Type> arguments = new HashMap<>();
            String key = c.getName();
            String name = exported(c.getSimpleName());
            for (int i = 0; i < c.getTypeParameters().length; i++) {
                Type argument = type instanceof ParameterizedType p ? resolve(p.getActualTypeArguments()[i], bound) : Object.class;
                arguments.put(c.getTypeParameters()[i], argument);
                key += "," + argument.getTypeName();
                name += argument == Object.class ? "" : "Of" + exported(raw(argument, bound).getSimpleName());
            }
            if (names.containsKey(key)) {
                return names.get(key);
            }
            while (names.containsValue(name) || name.equals("Classes")) {
                name += "_";
            }
            names.put(key, name);
            if (c.isEnum()) {
                List<String> constants = Arrays.stream(c.getEnumConstants()).map(constant -> Json.quote(((Enum<?>) constant).name())).toList();
                source.append("\n// ").append(name).append(" is the enum ").append(c.getName()).append(".\ntype ").append(name).append(" string\n");
                list.append("\t{Of: ").append(name).append("(\"\"), Name: ").append(Json.quote(c.getName())).append(", Constants: []string{").append(String.join(", ", constants))
                        .append(Modifier.isFinal(c.getModifiers()) ? "}, Final: true},\n" : "}, Bodies: true},\n");
                return name;
            }
            ObjectStreamClass stream = ObjectStreamClass.lookup(c);
            boolean own = stream != null && (stream.getFields().length != fieldsOf(c, false, false).size()
                    || Arrays.stream(c.getDeclaredMethods()).anyMatch(m -> List.of("writeObject", "writeReplace", "writeExternal").contains(m.getName())));
            StringBuilder out = new StringBuilder("\n// " + name + " is the class " + key + (own ? ", whose own method writes it: Marshalling and Serialization refuse to" : "")
                    + ".\ntype " + name + " struct {\n");
            out.append("\t_ struct{} `java:\"").append(c.getName()).append(stream == null || own ? "" : ",serialVersionUID=" + stream.getSerialVersionUID())
                    .append(key.contains(",") && !key.replaceAll("^[^,]*", "").matches("(,java.lang.Object)+") ? ",of=" + key.substring(key.indexOf(',') + 1).replace(',', '+') : "")
                    .append(c.isRecord() ? ",record" : Modifier.isFinal(c.getModifiers()) ? ",final" : "").append("\"`\n");
            Set<String> used = new HashSet<>();
            if (c.getSuperclass() != null && !isJdk(c.getSuperclass())) {
                used.add(named(c.getGenericSuperclass(), arguments));
                out.append('\t').append(used.iterator().next()).append('\n');
            }
            for (Field field : fieldsOf(c, false, false)) {
                String[] goType = goType(field.getGenericType(), arguments);
                String member = exported(field.getName());
                while (!used.add(member)) {
                    member += "_";
                }
                out.append('\t').append(member).append(' ').append(goType[0]).append(" `json:\"").append(field.getName()).append('"')
                        .append(goType[1].isEmpty() ? "" : " java:\"" + goType[1] + "\"").append("`\n");
            }
            source.append(out).append("}\n");
            list.append("\t{Of: ").append(name).append("{}},\n");
            return name;
        }

        /** The Go type of a field, and its tag. */
        private String[] goType(Type declared, Map<TypeVariable<?>, Type> bound) {
            Type type = resolve(declared, bound);
            Class<?> c = raw(type, bound);
            String simple = c.getSimpleName();
            boolean isUtil = c.getName().startsWith("java.util.");
            if (TYPES.containsKey(c.getName())) {
                return new String[] {TYPES.get(c.getName()), ""};
            } else if (c == byte[].class) {
                return new String[] {"[]byte", ""};
            } else if (c.isArray()) {
                String[] element = goType(type instanceof GenericArrayType a ? a.getGenericComponentType() : c.getComponentType(), bound);
                return element[1].isEmpty() && element[0].matches("[^\\[]*|\\[\\]byte") ? new String[] {"[]" + element[0], "array"} : unknown(c);
            } else if (isUtil && List.of("List", "ArrayList", "LinkedList", "Collection", "Set", "HashSet", "LinkedHashSet", "TreeSet").contains(simple)) {
                String[] element = goType(argument(type, 0), bound);
                return loses(element) ? unknown(c) : new String[] {"[]" + element[0], simple.equals("List") ? "" : simple};
            } else if (isUtil && List.of("Map", "HashMap", "LinkedHashMap", "TreeMap").contains(simple)) {
                String[] key = goType(argument(type, 0), bound), element = goType(argument(type, 1), bound);
                Class<?> keys = raw(argument(type, 0), bound);
                boolean compares = !key[0].matches("\\*big.*|.*[\\[\\]].*") && (isJdk(keys) || key[0].equals("any"));
                return loses(key) || loses(element) || !compares ? unknown(c) : new String[] {"map[" + key[0].replace("*", "") + "]" + element[0], simple.equals("Map") ? "" : simple};
            } else if (c == Optional.class) {
                String[] element = goType(argument(type, 0), bound);
                return element[0].startsWith("*") ? new String[] {element[0], "Optional"} : unknown(c);
            } else if (c == Object.class) {
                return new String[] {"any", ""};
            } else if (!c.isEnum() && (c.isInterface() || Modifier.isAbstract(c.getModifiers()) || jdkSuper(c) != null)) {
                return new String[] {"any", c.getName() + (Modifier.isFinal(c.getModifiers()) ? ",final" : "")};
            }
            return new String[] {"*" + named(type, bound), ""};
        }

        /** The Go type of a field that no Go type holds; Kryo5, whose bytes do not tell the class or what it holds, refuses it. */
        private static String[] unknown(Class<?> c) {
            Class<?> element = c;
            while (element.isArray()) {
                element = element.getComponentType();
            }
            return new String[] {"any", c.getName() + (element == c || Modifier.isFinal(element.getModifiers()) ? ",final" : "")};
        }

        /** Whether the Go type loses its tag as an element. */
        private static boolean loses(String[] element) {
            return element[1].matches(".*,final|\\[.*|java\\.util\\..*|java\\.lang\\.Iterable") || !element[1].isEmpty() && !element[0].equals("any");
        }

        private static Type argument(Type type, int i) {
            return type instanceof ParameterizedType p ? p.getActualTypeArguments()[i] : Object.class;
        }

        private static Type resolve(Type type, Map<TypeVariable<?>, Type> bound) {
            return type instanceof TypeVariable<?> v ? bound.getOrDefault(v, Object.class) : type instanceof WildcardType w ? resolve(w.getUpperBounds()[0], bound) : type;
        }

        private static Class<?> raw(Type declared, Map<TypeVariable<?>, Type> bound) {
            Type type = resolve(declared, bound);
            return type instanceof Class<?> c ? c : type instanceof ParameterizedType p ? (Class<?>) p.getRawType()
                    : type instanceof GenericArrayType a ? Array.newInstance(raw(a.getGenericComponentType(), bound), 0).getClass() : Object.class;
        }

        private static String exported(String name) {
            String letters = name.replaceAll("[^\\p{L}\\p{Nd}_]", "").replaceAll("Id$|^id$", "ID");
            letters = letters.isEmpty() ? "X" : letters.substring(0, 1).toUpperCase(Locale.ROOT) + letters.substring(1);
            return Character.isUpperCase(letters.charAt(0)) ? letters : "X" + letters;
        }
    }

    private static boolean isJdk(Class<?> c) {
        return c.isPrimitive() || Enum.class.isAssignableFrom(c) || c.getName().startsWith("java.") || c.getClassLoader() == null;
    }

    /** The class of the JDK that a class is or extends; null for one that has fields of its own only. */
    private static Class<?> jdkSuper(Class<?> c) {
        Class<?> above = c;
        while (above != null && !isJdk(above)) {
            above = above.getSuperclass();
        }
        return above != null && above != Object.class && above != Record.class ? above : Map.class.isAssignableFrom(c) ? Map.class : Collection.class.isAssignableFrom(c) ? Collection.class : null;
    }

    private static List<Field> fieldsOf(Class<?> type, boolean inherited, boolean transients) {
        List<Field> all = new ArrayList<>();
        for (Class<?> c = type; c != null && !isJdk(c); c = inherited ? c.getSuperclass() : null) {
            for (Field field : c.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && (transients || !Modifier.isTransient(field.getModifiers()))) {
                    field.setAccessible(true);
                    all.add(field);
                }
            }
        }
        return all;
    }

    private static final Pattern LIBRARY = Pattern.compile("L(com/(?:esotericsoftware|fasterxml)/[\\w/$]+);");
    private static final Map<Class<?>, String> UNSEEN = new HashMap<>();

    /** Fails for a class that names another class of a codec's library than the codec has, such as an annotation: Java passes over it. */
    private static void sees(Class<?> c) {
        String unseen = UNSEEN.computeIfAbsent(c, of -> {
            try (InputStream file = of.getClassLoader().getResourceAsStream(of.getName().replace('.', '/') + ".class")) {
                return LIBRARY.matcher(file == null ? "" : new String(file.readAllBytes(), StandardCharsets.ISO_8859_1)).results()
                        .map(found -> found.group(1).replace('/', '.')).filter(name -> Stream.of(old, young).anyMatch(redisson -> {
                            Class<?> used = find(name, redisson);
                            return used != null && used != find(name, of.getClassLoader());
                        })).findFirst().orElse("");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        if (!unseen.isEmpty()) {
            throw new Refused("class " + c.getName() + " uses " + unseen + ", which a codec does not see there: leave out --release, and name the Redisson and the libraries of the application by --classpath");
        }
    }

    private static Class<?> find(String name, ClassLoader loader) {
        try {
            return Class.forName(name, false, loader);
        } catch (ClassNotFoundException | LinkageError e) {
            return null;
        }
    }

    /** Whether a codec reflects into the JDK, which was open to the services that used it. */
    private static boolean reflects(String codec) {
        return codec.matches("(.*/)?(marshalling|fst)");
    }

    /** Whether a class writes itself to a stream, and so may write its transient fields, too. */
    private static boolean writesItself(Class<?> type) {
        for (Class<?> c = type; c != null && !isJdk(c); c = c.getSuperclass()) {
            if (Arrays.stream(c.getDeclaredMethods()).anyMatch(m -> m.getName().matches("writeObject|readObject|writeReplace|readResolve|writeExternal"))) {
                return true;
            }
        }
        return false;
    }

    private static Map<String, String> pairs(String text) {
        return new TreeMap<>(Arrays.stream(text.split(" ")).collect(Collectors.toMap(pair -> pair.split("=")[0], pair -> pair.split("=")[1])));
    }

    private static String shortened(String text) {
        return text.length() <= 2000 ? text : text.substring(0, 2000) + "…";
    }

    /** The members of a flat object of texts and whole numbers. */
    private static Map<String, String> members(String line) {
        Map<String, String> all = new HashMap<>();
        int[] at = {0};
        for (line = line + '"'; (at[0] = line.indexOf('"', at[0])) < line.length() - 1;) {
            String name = text(line, at);
            at[0] = line.indexOf(':', at[0]) + 1;
            while (line.charAt(at[0]) == ' ') {
                at[0]++;
            }
            if (line.charAt(at[0]) == '"') {
                all.put(name, text(line, at));
            } else {
                int begin = at[0];
                while (",}\"".indexOf(line.charAt(at[0])) < 0) {
                    at[0]++;
                }
                all.put(name, line.substring(begin, at[0]).strip());
            }
        }
        return all;
    }

    /** The text in quotes at a place, which moves behind it. */
    private static String text(String line, int[] at) {
        StringBuilder text = new StringBuilder();
        for (int i = at[0] + 1; i < line.length(); i++) {
            char c = line.charAt(i);
            if (c == '"') {
                at[0] = i + 1;
                return text.toString();
            }
            if (c == '\\') {
                c = line.charAt(++i);
                int escape = "nrtbf".indexOf(c);
                if (c == 'u') {
                    c = (char) Integer.parseInt(line.substring(i + 1, i + 5), 16);
                    i += 4;
                } else if (escape >= 0) {
                    c = "\n\r\t\b\f".charAt(escape);
                }
            }
            text.append(c);
        }
        at[0] = line.length();
        return text.toString();
    }

    /** Writes JSON. Of values strict names each class, and sorts what has no order of its own. */
    private static final class Json {
        final StringBuilder out = new StringBuilder();
        final boolean strict;

        Json(boolean strict) {
            this.strict = strict;
        }

        Json raw(String text) {
            if (out.length() > 0 && "{[:".indexOf(out.charAt(out.length() - 1)) < 0) {
                out.append(',');
            }
            out.append(text);
            if (out.length() > LONGEST) {
                throw new Refused("it has more than " + LONGEST + " characters as JSON");
            }
            return this;
        }

        Json open(String bracket) {
            return raw(bracket);
        }

        Json close(String bracket) {
            out.append(bracket);
            return this;
        }

        Json name(String name) {
            return raw(quote(name)).close(":");
        }

        Json put(String name, Object value) {
            return name(name).raw(value == null || value instanceof Boolean || value instanceof Long ? "" + value
                    : quote(value instanceof byte[] bytes ? Base64.getEncoder().encodeToString(bytes) : value.toString()));
        }

        Json putAll(String name, Collection<String> texts) {
            name(name).open("[");
            texts.forEach(text -> raw(quote(text)));
            return close("]");
        }

        static String quote(String text) {
            StringBuilder quoted = new StringBuilder("\"");
            text.chars().forEach(c -> quoted.append(c == '"' || c == '\\' ? "\\" + (char) c : c < ' ' || Character.isSurrogate((char) c) ? String.format("\\u%04x", c) : "" + (char) c));
            return quoted.append('"').toString();
        }

        /** A value as people read it: objects with their class and fields, collections, maps, all else as its text. */
        Json value(Object value, int depth) {
            if (depth > 200) {
                throw new Refused("it is nested deeper than 200, or holds itself");
            }
            if (value == null || value instanceof Boolean || value instanceof Integer || !strict && value instanceof Number && value.toString().matches("-?[0-9.E+-]+")) {
                return raw("" + value);
            }
            if (value instanceof String text) {
                return raw(quote(text));
            }
            Class<?> c = value.getClass();
            boolean own = !isJdk(c) && !c.isArray(), holds = own && !strict && (value instanceof Collection || value instanceof Map);
            if (strict) {
                open("{").name(c.getName() + orderOf(value));
            } else if (holds) {
                open("{").put("@class", c.getName()).name("@elements");
            }
            if (value instanceof byte[] bytes) {
                raw(quote(Base64.getEncoder().encodeToString(bytes)));
            } else if (value instanceof Map<?, ?> map) {
                list(map.entrySet().stream().map(e -> text(e.getKey(), depth, !strict) + ":" + text(e.getValue(), depth, false)), "{", !(map instanceof SortedMap || map instanceof LinkedHashMap), "}");
            } else if (value instanceof Collection<?> all) {
                list(all.stream().map(element -> text(element, depth, false)), "[", all instanceof Set && !(all instanceof SortedSet || all instanceof LinkedHashSet), "]");
            } else if (c.isArray()) {
                list(IntStream.range(0, Array.getLength(value)).mapToObj(i -> text(Array.get(value, i), depth, false)), "[", false, "]");
            } else if (value instanceof Optional<?> || value instanceof AtomicReference<?>) {
                value(value instanceof Optional<?> o ? o.orElse(null) : ((AtomicReference<?>) value).get(), depth + 1);
            } else if (strict && value instanceof Throwable thrown) {
                list(Stream.of(quote("" + thrown.getMessage()), text(thrown.getCause(), depth, false), quote(Arrays.toString(thrown.getStackTrace()))), "[", false, "]");
            } else if (strict || isJdk(c)) {
                jdk(value);
            }
            if (own) {
                if (strict) {
                    sees(c);
                }
                if (!holds) {
                    open("{").put("@class", c.getName());
                }
                Set<String> names = new HashSet<>();
                if (!strict && value instanceof Throwable) { // its own fields are the JDK's
                    put("toString", value);
                }
                for (Field field : fieldsOf(c, true, strict && writesItself(c))) {
                    try {
                        name((names.add(field.getName()) ? "" : field.getDeclaringClass().getName() + ".") + field.getName()).value(field.get(value), depth + 1);
                    } catch (IllegalAccessException e) {
                        throw new IllegalStateException(e);
                    }
                }
                close("}");
            }
            return strict ? close("}") : this;
        }

        /** The part of a value that its class has of the JDK, as text. */
        private void jdk(Object value) {
            Class<?> c = value.getClass();
            while (!isJdk(c)) {
                c = c.getSuperclass();
            }
            if (c == Object.class && c != value.getClass() || c == Record.class) {
                return;
            }
            String text = value instanceof Enum<?> constant ? constant.name() : value instanceof Pattern pattern ? pattern + " " + pattern.flags()
                    : value.getClass() == Date.class ? ((Date) value).toInstant().toString() : value.toString();
            if (strict && value instanceof Date date) {
                text = date.getTime() + " " + text; // a date of java.sql has no time in its text
            }
            if (strict && text.equals(value.getClass().getName() + "@" + Integer.toHexString(System.identityHashCode(value)))) {
                throw new Refused("class " + value.getClass().getName() + " has no text by which two of its values can be compared");
            }
            raw(quote(text));
        }

        private static String orderOf(Object value) {
            Comparator<?> order = value instanceof SortedMap<?, ?> map ? map.comparator() : value instanceof SortedSet<?> set ? set.comparator()
                    : value instanceof PriorityQueue<?> queue ? queue.comparator() : null;
            return order == null ? "" : " by " + order.getClass().getName();
        }

        private String text(Object value, int depth, boolean asName) {
            String text = new Json(strict).value(value, depth + 1).toString();
            return asName && !text.startsWith("\"") ? quote(text) : text;
        }

        private void list(Stream<String> texts, String open, boolean sort, String close) {
            open(open);
            (sort && strict ? texts.sorted() : texts).forEach(this::raw);
            close(close);
        }

        @Override
        public String toString() {
            return out.toString();
        }
    }
}
