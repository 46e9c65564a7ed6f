package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import org.HdrHistogram.Histogram;

/**
 * Durations in nanoseconds, negative ones too: those are kept by their absolute value in a second
 * HdrHistogram. Every quantile is taken over both; minimum, maximum and mean are exact.
 */
final class SignedHistogram {

    private static final long LOWEST = 64;
    private static final long HIGHEST = 48L * 3600 * 1_000_000_000L;
    private static final int DIGITS = 3;

    private final Histogram positive = new Histogram(LOWEST, HIGHEST, DIGITS);
    private final Histogram negative = new Histogram(LOWEST, HIGHEST, DIGITS);
    private long count;
    private long min;
    private long max;
    private double sum;

    synchronized void record(long nanos) {
        if (nanos < 0) {
            negative.recordValue(Math.min(-nanos, HIGHEST));
        } else {
            positive.recordValue(Math.min(nanos, HIGHEST));
        }
        min = count == 0 ? nanos : Math.min(min, nanos);
        max = count == 0 ? nanos : Math.max(max, nanos);
        sum += nanos;
        count++;
    }

    synchronized void reset() {
        positive.reset();
        negative.reset();
        count = min = max = 0;
        sum = 0;
    }

    synchronized long max() {
        return max;
    }

    /** The value of rank ceil(q * count), to the histogram's precision; 0 if there is none. */
    synchronized long quantile(double q) {
        if (count == 0) {
            return 0;
        }
        long rank = Math.max(1, (long) Math.ceil(q * count - 1e-6));
        long negatives = negative.getTotalCount();
        long value = rank > negatives
                ? valueAt(positive, rank - negatives)
                : -valueAt(negative, negatives - rank + 1);
        return Math.min(Math.max(value, min), max);
    }

    /** The form of a run file; the encoded histograms are HdrHistogram V2 compressed, in base64. */
    synchronized ObjectNode toJson() {
        ObjectNode json = Protocol.JSON.createObjectNode()
                .put("unit", "ns").put("count", count).put("min", min).put("max", max)
                .put("mean", count == 0 ? 0 : sum / count)
                .put("p50", quantile(.5)).put("p90", quantile(.9)).put("p99", quantile(.99))
                .put("p999", quantile(.999)).put("p9999", quantile(.9999))
                .put("hdr", encode(positive));
        if (negative.getTotalCount() > 0) {
            json.put("hdr_negative", encode(negative));
        }
        return json;
    }

    private static long valueAt(Histogram histogram, long rank) {
        return histogram.getValueAtPercentile(100.0 * rank / histogram.getTotalCount());
    }

    private static String encode(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }
}
