internal import Synchronization

extension AutoConnections {
    /// The values that all connected peripherals notify or indicate of a characteristic, in one stream.
    ///
    /// ```swift
    /// let straps = central.autoConnections(matching: .service(.heartRate), limit: 5)
    /// for try await (strap, beat) in straps.values(of: .heartRateMeasurement) {
    ///     print(strap, beat.beatsPerMinute)
    /// }
    /// ```
    ///
    /// Iterating starts it, independently of an iteration over the peripherals. Each peripheral is subscribed to as
    /// soon as its link is up, and again after a loss, with values missing in between. Leaving the loop ends the
    /// subscriptions, and leaves the links as they are.
    ///
    /// What fails at one peripheral does not end the others, and is in ``Central/unhandledErrors()``: a value that
    /// cannot be decoded is left out, and a peripheral that cannot be subscribed to, such as one without the
    /// characteristic, gives its place to the next one for 30 s; see ``release(_:for:)``. Throws the errors of a scan.
    ///
    /// - Parameter overflow: what happens to values that the reader is too slow for, those of all peripherals together.
    public func values<Value>(
        of characteristic: Characteristic<Value>, overflow: OverflowPolicy = .dropOldest(capacity: 256)
    ) -> AutoConnectionValues<Value> {
        AutoConnectionValues(connections: self, characteristic: characteristic, overflow: overflow)
    }
}

/// The values of the peripherals that a central connects to by itself; see ``AutoConnections/values(of:overflow:)``.
public struct AutoConnectionValues<Value: Sendable>: AsyncSequence, Sendable {
    /// The type of element: a peripheral, and its value.
    public typealias Element = (peripheral: Peripheral, value: Value)
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let connections: AutoConnections
    fileprivate let characteristic: Characteristic<Value>
    fileprivate let overflow: OverflowPolicy

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(all: self) }

    /// An iterator over the values.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let all: AutoConnectionValues
        private var values: BoundedStream<Element>.Iterator?

        fileprivate init(all: AutoConnectionValues) { self.all = all }

        /// Returns the next value.
        public mutating func next() async throws(BLEError) -> Element? { try await next(isolation: #isolation) }

        /// Returns the next value, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Element? {
            if Task.isCancelled { throw .cancelled }
            if values == nil { values = all.start().makeAsyncIterator() }
            return try await values?.next(isolation: actor)
        }
    }

    /// Starts a run. It ends when its stream is no longer read.
    private func start() -> BoundedStream<Element> {
        AutoConnectorLoop<Peripheral.ID>.start(
            on: connections.connecting.central, policy: overflow
        ) { (producer) throws(BLEError) in
            let readers = Readers()
            let result = await withDiscardingTaskGroup { group -> Result<Void, BLEError> in
                defer { group.cancelAll() }
                do throws(BLEError) {
                    for try await peripheral in connections where readers.begin(peripheral.id) {
                        group.addTask {
                            repeat { await read(peripheral, producer) } while readers.goesOn(peripheral.id)
                        }
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            try result.get()
        }
    }

    /// Reads the values of a peripheral as long as its link lasts, or longer, if its policy maintains it.
    private func read(_ peripheral: Peripheral, _ producer: BoundedStream<Element>.Producer) async {
        let (id, central) = (peripheral.id, peripheral.central)
        let decode = characteristic.decoder(for: id)
        do throws(BLEError) {
            // Notifications may end on a link that lasts, for example when the services change.
            while !Task.isCancelled, let link = await central.linkVersion(id).version {
                // Does not wait for another link: that has its own subscription.
                let packets = try await central.onLink(link.number, of: id) { (central, id) throws(BLEError) in
                    try await central.subscribe(
                        to: characteristic.key, of: id, overflow: .dropOldest(capacity: 256), timeout: nil)
                }.packets
                do throws(BLEError) {
                    for try await packet in packets {
                        guard case .value(let bytes) = packet else { continue }
                        do throws(BLEError) {
                            producer.yield((peripheral, try decode(bytes)))
                        } catch {
                            await central.report(unhandled: error, while: "reading values", of: id)
                        }
                    }
                } catch {
                    await central.report(unhandled: error, while: "reading values", of: id)
                }
            }
        } catch {
            guard !Task.isCancelled, await peripheral.connectionState == .connected else { return }
            await central.report(unhandled: error, while: "subscribing", of: id)
            try? await connections.release(peripheral)
        }
    }
}

/// The peripherals whose values are read: one that is connected again may still be read over its former link.
private final class Readers: Sendable {
    /// By peripheral, whether it was connected again meanwhile.
    private let running = Mutex<[Peripheral.ID: Bool]>([:])

    /// Records a link. Returns false if its peripheral is being read.
    func begin(_ id: Peripheral.ID) -> Bool {
        running.withLock { running in
            defer { running[id] = running[id] != nil }
            return running[id] == nil
        }
    }

    /// Records that a reading has ended. Returns whether the next one begins, over a link that came up meanwhile.
    func goesOn(_ id: Peripheral.ID) -> Bool {
        running.withLock { running in
            guard running[id] == true else {
                running[id] = nil
                return false
            }
            running[id] = false
            return true
        }
    }
}
