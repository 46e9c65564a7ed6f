package io.github.dqbench.redisson;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Base64;
import org.HdrHistogram.Histogram;

/**
 * Durations in nanoseconds, negative ones too, which are kept by their absolute value in a second HdrHistogram; minimum,
 * maximum and mean are exact. Whoever uses it sees to it that no two threads do so at once.
 */
final class SignedHistogram {

    /** The digits of the histograms of a whole phase, and of a second. */
    static final int TOTAL_DIGITS = 3;
    static final int SECOND_DIGITS = 2;

    private static final long LOWEST = 64;
    private static final long HIGHEST = 48L * 3600 * 1_000_000_000L;

    private final int digits;
    private final Histogram positive;
    /** Made for the first negative value. */
    private Histogram negative;
    private long count;
    private long min;
    private long max;
    private double sum;

    SignedHistogram(int digits) {
        this.digits = digits;
        this.positive = new Histogram(LOWEST, HIGHEST, digits);
    }

    void record(long nanos) {
        if (nanos < 0) {
            negative().recordValue(Math.min(-nanos, HIGHEST));
        } else {
            positive.recordValue(Math.min(nanos, HIGHEST));
        }
        min = count == 0 ? nanos : Math.min(min, nanos);
        max = count == 0 ? nanos : Math.max(max, nanos);
        sum += nanos;
        count++;
    }

    /** Adds what another histogram of the same digits has. */
    void add(SignedHistogram other) {
        if (other.count == 0) {
            return;
        }
        positive.add(other.positive);
        if (other.negative != null) {
            negative().add(other.negative);
        }
        min = count == 0 ? other.min : Math.min(min, other.min);
        max = count == 0 ? other.max : Math.max(max, other.max);
        sum += other.sum;
        count += other.count;
    }

    void reset() {
        if (count == 0) {
            return;
        }
        positive.reset();
        if (negative != null) {
            negative.reset();
        }
        count = min = max = 0;
        sum = 0;
    }

    /** The form of a run file; the encoded histograms are HdrHistogram V2 compressed, in base64. */
    ObjectNode toJson() {
        ObjectNode json = Protocol.JSON.createObjectNode()
                .put("unit", "ns").put("count", count).put("min", min).put("max", max)
                .put("mean", count == 0 ? 0 : sum / count)
                .put("hdr", encode(positive));
        if (negative != null && negative.getTotalCount() > 0) {
            json.put("hdr_negative", encode(negative));
        }
        return json;
    }

    private Histogram negative() {
        if (negative == null) {
            negative = new Histogram(LOWEST, HIGHEST, digits);
        }
        return negative;
    }

    private static String encode(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        int length = histogram.encodeIntoCompressedByteBuffer(buffer);
        return Base64.getEncoder().encodeToString(Arrays.copyOf(buffer.array(), length));
    }
}
