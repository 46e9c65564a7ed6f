// Package baseline answers: what is a delay queue measured against?
//
// Memory needs no server and shows the price of that; List and ZSet are the two
// designs of document 001 that Redisson's queue is compared with.
package baseline
