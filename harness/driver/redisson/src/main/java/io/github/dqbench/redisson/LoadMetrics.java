package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;

/** The four histograms of a load in nanoseconds, and lateness second by second. */
final class LoadMetrics {

    private static final long HIGHEST = 3_600_000_000_000L;
    private static final int DIGITS = 3;

    private final Recorder lateness = new Recorder(HIGHEST, DIGITS);
    private final Recorder early = new Recorder(HIGHEST, DIGITS);
    private final Recorder offerRtt = new Recorder(HIGHEST, DIGITS);
    private final Recorder scheduleLag = new Recorder(HIGHEST, DIGITS);
    private final Histogram latenessTotal = new Histogram(HIGHEST, DIGITS);
    private final ArrayNode intervals = Protocol.JSON.createArrayNode();
    private long offeredBefore;
    private long deliveredBefore;

    void lateness(long nanos) {
        if (nanos < 0) {
            early.recordValue(Math.min(-nanos, HIGHEST));
        } else {
            lateness.recordValue(Math.min(nanos, HIGHEST));
        }
    }

    void offerRtt(long nanos) {
        offerRtt.recordValue(Math.min(nanos, HIGHEST));
    }

    void scheduleLag(long nanos) {
        scheduleLag.recordValue(Math.min(Math.max(nanos, 0), HIGHEST));
    }

    /** Closes a second of the measured part and returns its line. */
    synchronized ObjectNode closeSecond(int second, long offered, long delivered) {
        Histogram histogram = lateness.getIntervalHistogram();
        latenessTotal.add(histogram);
        ObjectNode interval = intervals.addObject()
                .put("second", second)
                .put("offered", offered - offeredBefore)
                .put("delivered", delivered - deliveredBefore);
        interval.putObject("lateness")
                .put("p50", histogram.getValueAtPercentile(50))
                .put("p99", histogram.getValueAtPercentile(99))
                .put("max", histogram.getMaxValue());
        offeredBefore = offered;
        deliveredBefore = delivered;
        return interval;
    }

    synchronized ArrayNode intervals() {
        return intervals;
    }

    synchronized ObjectNode histograms() {
        latenessTotal.add(lateness.getIntervalHistogram());
        ObjectNode histograms = Protocol.JSON.createObjectNode();
        histograms.put("lateness", encode(latenessTotal));
        histograms.put("early", encode(early.getIntervalHistogram()));
        histograms.put("offer_rtt", encode(offerRtt.getIntervalHistogram()));
        histograms.put("schedule_lag", encode(scheduleLag.getIntervalHistogram()));
        return histograms;
    }

    /** HdrHistogram V2 compressed, in base64. */
    private static String encode(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }
}
