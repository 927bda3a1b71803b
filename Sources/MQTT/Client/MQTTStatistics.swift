#if Gateway
    /// What a client has counted since it was made.
    package struct MQTTStatistics: Hashable, Sendable {
        /// Messages sent, including repeated ones.
        package var sent = 0
        /// Messages that wait to be sent.
        package var queued = 0
        /// Messages dropped: the queue was full, they had expired, the broker refused them, or the client was shut
        /// down.
        package var dropped = 0
        /// Retained messages that a later one for their topic has replaced before they were sent.
        package var replaced = 0
        /// Messages received.
        package var received = 0
        /// Received messages that no stream got: their topic was invalid, or had no subscription.
        package var unwanted = 0
        /// Connections after the first.
        package var reconnects = 0
    }
#endif
