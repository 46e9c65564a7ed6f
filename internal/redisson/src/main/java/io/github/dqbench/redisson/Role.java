package io.github.dqbench.redisson;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/** The share of a plan's offers and takes that is one part's: those of a member on a host. */
final class Role {

    private final LoadPlan plan;
    private final int member;
    private final int worker;
    private final int workers;
    /** The instants at which a member begins or ends, after the start of the measured phase; the first is 0. */
    private final long[] changes;
    /** Who offers from each of those instants on, and who takes. */
    private final int[][] offering;
    private final int[][] taking;
    /** Who offers in the warm-up, and who takes. */
    private final int[] offeringFirst;
    private final int[] takingFirst;

    Role(LoadPlan plan, int member, int worker, int workers) {
        List<Member> members = plan.members();
        LoadPlan.require(member >= 0 && member < members.size(), "part.member", "the index of one of the members");
        LoadPlan.require(workers >= 1 && worker >= 0 && worker < workers, "part.worker", "0 or more, and less than workers");
        this.plan = plan;
        this.member = member;
        this.worker = worker;
        this.workers = workers;
        LongStream all = members.stream().flatMapToLong(m -> LongStream.of(m.fromNanos(), m.toNanos()));
        changes = LongStream.concat(LongStream.of(0), all).sorted().distinct().toArray();
        offering = Arrays.stream(changes).mapToObj(this::offeringAt).toArray(int[][]::new);
        taking = Arrays.stream(changes).mapToObj(at -> those(m -> m.takes() && m.present(at))).toArray(int[][]::new);
        offeringFirst = those(m -> m.offers() && m.fromNanos() == 0);
        takingFirst = those(m -> m.takes() && m.fromNanos() == 0);
    }

    /** Whether a message is this part's to offer. */
    boolean offers(Phase phase, int message) {
        int producer = plan.producerOf(message);
        return ofHost(producer) && isOwner(offerers(phase, message), producer / workers);
    }

    /** The first message of a producer, from one of its messages on, that is this part's to offer; -1 if there is none. */
    int nextOffer(Phase phase, int message) {
        if (!ofHost(plan.producerOf(message)) || !plan.members().get(member).offers()) {
            return -1;
        }
        int messages = plan.of(phase).messages();
        for (long i = message; i < messages; i += plan.producers()) {
            if (offers(phase, (int) i)) {
                return (int) i;
            }
        }
        return -1;
    }

    /** The instants after the start of a phase at which this part looks which consumers it is to begin. */
    long[] looks(Phase phase) {
        return phase == Phase.WARMUP
                ? new long[] {0}
                : Arrays.stream(changes).filter(plan.members().get(member)::present).toArray();
    }

    /** The consumers that are this part's at one of those instants. */
    int[] consumers(Phase phase, long look) {
        int[] takers = phase == Phase.WARMUP ? takingFirst : taking[segment(look)];
        return IntStream.range(0, plan.consumers())
                .filter(c -> ofHost(c) && isOwner(takers, c / plan.queues().size() / workers)).toArray();
    }

    /** How many consumers this part will ever begin. */
    int consumers() {
        IntStream begun = Arrays.stream(consumers(Phase.WARMUP, 0));
        for (long look : looks(Phase.MEASURED)) {
            begun = IntStream.concat(begun, Arrays.stream(consumers(Phase.MEASURED, look)));
        }
        return (int) begun.distinct().count();
    }

    private boolean ofHost(int thread) {
        return thread % workers == worker;
    }

    private boolean isOwner(int[] of, int number) {
        return of.length > 0 && of[number % of.length] == member;
    }

    private int[] offerers(Phase phase, int message) {
        if (phase == Phase.WARMUP) {
            return offeringFirst;
        }
        return offering.length == 1 ? offering[0] : offering[segment(plan.of(phase).schedule().at(message))];
    }

    private int segment(long at) {
        int found = Arrays.binarySearch(changes, at);
        return found >= 0 ? found : -found - 2;
    }

    /** The members that offer at an instant; where none does, the first one that begins later. */
    private int[] offeringAt(long at) {
        int[] present = those(m -> m.offers() && m.present(at));
        if (present.length > 0) {
            return present;
        }
        int next = -1;
        List<Member> members = plan.members();
        for (int i = 0; i < members.size(); i++) {
            Member m = members.get(i);
            if (m.offers() && m.fromNanos() > at && (next < 0 || m.fromNanos() < members.get(next).fromNanos())) {
                next = i;
            }
        }
        return next < 0 ? present : new int[] {next};
    }

    private int[] those(Predicate<Member> wanted) {
        List<Integer> found = new ArrayList<>();
        for (int i = 0; i < plan.members().size(); i++) {
            if (wanted.test(plan.members().get(i))) {
                found.add(i);
            }
        }
        return found.stream().mapToInt(Integer::intValue).toArray();
    }
}
