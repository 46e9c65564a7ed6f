package cli

import (
	"fmt"
	"strings"
)

// What a user of the server has to be granted, as ACL SETUSER takes it. Of the keys, QUEUE stands for
// the names of the queues.
const (
	connectRights = "+@connection +info"
	queueKeys     = "~QUEUE ~redisson_delay_queue*"
	queueChannels = "&redisson_delay_queue_channel:*"

	doctorRights  = connectRights + " +@read +time +pubsub|numsub +pubsub|channels +client|list +slowlog|get +config|get " + queueKeys + " ~dq_*"
	migrateRights = connectRights + " +@read +@scripting +pubsub|numsub +client|list +zadd +zrem +lset +del +sadd +srem +lrem +lpush +rpush +hset +hdel +expire " + queueKeys + " ~dq_*"
	queueRights   = migrateRights
	guardRights   = connectRights + " +@read +@write +@scripting +@pubsub +time " + queueKeys + " " + queueChannels
)

// granted says what to grant a user who may not do something.
func granted(err error, rights string) error {
	// The second is what a script is told by a server before Redis 7.2.
	if err != nil && (strings.Contains(err.Error(), "NOPERM") || strings.Contains(err.Error(), "The user executing the script can't")) {
		return fmt.Errorf("the server refuses: %w; grant the user %s", err, rights)
	}
	return err
}
