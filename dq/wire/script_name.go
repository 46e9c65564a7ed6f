package wire

// ScriptName names a script of the catalogue in all its variants: it is the name of a variant, such as "offer-v1", without its number.
type ScriptName string

// The scripts of RDelayedQueue, in the order of the catalogue.
const (
	ScriptOffer                   ScriptName = "offer"
	ScriptTransfer                ScriptName = "transfer"
	ScriptPoll                    ScriptName = "poll"
	ScriptPollLimit               ScriptName = "poll-limit"
	ScriptPeek                    ScriptName = "peek"
	ScriptReadAll                 ScriptName = "readAll"
	ScriptRemove                  ScriptName = "remove"
	ScriptRemoveAll               ScriptName = "removeAll"
	ScriptRetainAll               ScriptName = "retainAll"
	ScriptContains                ScriptName = "contains"
	ScriptContainsAll             ScriptName = "containsAll"
	ScriptIteratorValue           ScriptName = "iterator.getValue-index"
	ScriptIteratorRemove          ScriptName = "iterator.remove-index"
	ScriptPollLastAndOfferFirstTo ScriptName = "pollLastAndOfferFirstTo"
	ScriptExpire                  ScriptName = "expire"
	ScriptExpireAt                ScriptName = "expireAt"
	ScriptClearExpire             ScriptName = "clearExpire"
	ScriptSizeInMemory            ScriptName = "sizeInMemory"
	ScriptCopy                    ScriptName = "copy"
)

// The scripts of RQueue, RDeque and RBlockingQueue, which work only on the destination.
const (
	ScriptQueueDrainTo       ScriptName = "RBlockingQueue.drainTo(c)"
	ScriptQueueDrainToMax    ScriptName = "RBlockingQueue.drainTo(c,max)"
	ScriptQueueContainsAll   ScriptName = "RQueue.containsAll"
	ScriptQueueRemoveAll     ScriptName = "RQueue.removeAll"
	ScriptQueueRetainAll     ScriptName = "RQueue.retainAll"
	ScriptQueueContains      ScriptName = "RQueue.contains"
	ScriptQueuePollLimit     ScriptName = "RQueue.poll(limit)"
	ScriptDequePollLastLimit ScriptName = "RDeque.pollLast(limit)"
)
