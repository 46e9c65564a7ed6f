package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

/** What this program itself takes of the machine, from the making of the object on. */
final class ToolUse {

    private static final OperatingSystemMXBean SYSTEM =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private final long began = System.nanoTime();
    private final long cpuNanos = SYSTEM.getProcessCpuTime();
    private final long pauseMillis = pauses();
    private volatile double share;

    /** Notes that no more messages are offered: until then its processors' time is of interest as a share. */
    void offered() {
        double possible = (double) (System.nanoTime() - began) * Runtime.getRuntime().availableProcessors();
        share = (SYSTEM.getProcessCpuTime() - cpuNanos) / possible;
    }

    ObjectNode toJson() {
        return Protocol.JSON.createObjectNode()
                .put("cpu_share", share)
                .put("cpu_seconds", (SYSTEM.getProcessCpuTime() - cpuNanos) / 1e9)
                .put("gc_pause_seconds", (pauses() - pauseMillis) / 1e3);
    }

    /** Collectors that run beside the program say so by their names. */
    private static long pauses() {
        long millis = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            if (!collector.getName().contains("Concurrent") && !collector.getName().endsWith("Cycles")) {
                millis += Math.max(0, collector.getCollectionTime());
            }
        }
        return millis;
    }
}
