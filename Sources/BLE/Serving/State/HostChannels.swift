internal import Waiting

/// A number at which a host accepts channels.
struct ChannelPublication {
    /// The definition whose handlers receive the channels. A channel then counts until its handler has returned, rather
    /// than until it is closed.
    let definition: Int?
    /// Receives each channel, with the number of the publication.
    let accept: @Sendable (L2CAPChannel, Int) -> Void
    /// Reports that no more channels are accepted.
    let onEnd: @Sendable (BLEError) -> Void
    fileprivate var counts: ChannelCounts

    init(
        _ limits: ChannelLimits, definition: Int?, accept: @escaping @Sendable (L2CAPChannel, Int) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) {
        counts = ChannelCounts(limits)
        self.definition = definition
        self.accept = accept
        self.onEnd = onEnd
    }
}

/// The channels of a host: those that are open, the numbers at which it accepts more, and the handlers of definitions.
struct HostChannels {
    /// The channels of a definition that is served.
    private struct Served {
        /// What accepts them.
        var publications: [Int] = []
        /// The handlers that run, by the identity of their channels' cores, which they retain.
        var handlers: [ObjectIdentifier: Handler] = [:]
    }

    private struct Handler {
        let task: Task<Void, Never>
        /// Cancels the handler some time after the end of its channel.
        var expiry: Expiry?

        func cancel() {
            task.cancel()
            expiry?.cancel()
        }
    }

    private var publications: [Int: ChannelPublication] = [:]
    private var served: [Int: Served] = [:]
    private var open: [DeviceID: [ObjectIdentifier: ChannelCore]] = [:]

    // MARK: Publications

    /// Under a number of the host's own: another publication may have the same PSM later.
    subscript(_ publication: Int) -> ChannelPublication? { publications[publication] }

    mutating func publish(_ publication: ChannelPublication, as number: Int) { publications[number] = publication }

    /// Returns the publication if there was one.
    mutating func unpublish(_ number: Int) -> ChannelPublication? { publications.removeValue(forKey: number) }

    /// Counts a channel if there is room for it.
    mutating func count(_ central: DeviceID, at publication: Int) -> ChannelCounts.Decision? {
        publications[publication]?.counts.add(central)
    }

    // MARK: Open channels

    mutating func opened(_ channel: ChannelCore, to central: DeviceID) {
        open[central, default: [:]][ObjectIdentifier(channel)] = channel
    }

    /// Records that a channel has been closed. Its handler, if it has one, may go on for `patience`: the channel may
    /// have received packets that the handler has not taken yet.
    mutating func closed(
        _ channel: ChannelCore, to central: DeviceID, of publication: Int, _ definition: Int?,
        patience: Duration, clock: any Clock<Duration>
    ) {
        open[central]?[ObjectIdentifier(channel)] = nil
        if open[central]?.isEmpty == true { open[central] = nil }
        guard let definition else {
            publications[publication]?.counts.remove(central)
            return
        }
        guard let task = served[definition]?.handlers[ObjectIdentifier(channel)]?.task else { return }
        served[definition]?.handlers[ObjectIdentifier(channel)]?.expiry = Expiry(after: patience, clock: clock) {
            task.cancel()
        }
    }

    /// Removes and returns the channels to a central, or all of them.
    mutating func removeAll(to central: DeviceID? = nil) -> [ChannelCore] {
        guard let central else {
            defer { open = [:] }
            return open.values.flatMap(\.values)
        }
        return open.removeValue(forKey: central).map { Array($0.values) } ?? []
    }

    // MARK: Channels of definitions

    /// Whether the channels of a definition are accepted.
    func isServing(_ definition: Int) -> Bool { served[definition] != nil }

    mutating func serve(_ definition: Int) { served[definition] = Served() }

    /// Adds a publication of a definition. Returns false if the definition is no longer served.
    mutating func add(_ publication: Int, of definition: Int) -> Bool {
        served[definition]?.publications.append(publication)
        return isServing(definition)
    }

    mutating func handlerBegan(_ task: Task<Void, Never>, for channel: ChannelCore, of definition: Int) {
        served[definition]?.handlers[ObjectIdentifier(channel)] = Handler(task: task)
    }

    /// Records that the handler of a channel has returned. Returns whether its definition is still served.
    mutating func handlerEnded(
        for channel: ChannelCore, to central: DeviceID, of publication: Int, _ definition: Int
    ) -> Bool {
        publications[publication]?.counts.remove(central)
        guard let handler = served[definition]?.handlers.removeValue(forKey: ObjectIdentifier(channel)) else {
            return false
        }
        handler.expiry?.cancel()
        return true
    }

    /// Removes the channels of a definition that is no longer served. Returns its publications, and a function that
    /// cancels the handlers.
    mutating func endServing(_ definition: Int) -> (publications: [Int], cancel: () -> Void) {
        guard let ended = served.removeValue(forKey: definition) else { return ([], {}) }
        return (ended.publications, { for handler in ended.handlers.values { handler.cancel() } })
    }

    /// Cancels all handlers, and reports to every publication that no more channels are accepted.
    func end(_ error: BLEError) {
        for definition in served.values {
            for handler in definition.handlers.values { handler.cancel() }
        }
        for publication in publications.values { publication.onEnd(error) }
    }
}
