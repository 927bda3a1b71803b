public import BLE

/// The lines of text that a Nordic UART sends, in UTF-8, each without its end, which is LF or CR LF.
///
/// Bytes that are no UTF-8 become U+FFFD. A line that is too long throws `invalidValue` with ``TextLineError`` as its cause; calling
/// `next()` again goes on with the line after it. A line that was under way when a maintained link was lost is left out, and what has no
/// end when the stream ends is, too.
public struct NordicUARTLines: AsyncSequence, Sendable {
    /// A line.
    public typealias Element = String
    /// Why iterating can fail.
    public typealias Failure = BLEError

    let events: NotificationEvents<[UInt8]>
    let limit: Int
    let service: PeripheralService

    /// An iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: events.makeAsyncIterator(), splitter: LineSplitter(limit: limit), service: service)
    }

    /// Reads lines.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: NotificationEvents<[UInt8]>.Iterator
        fileprivate var splitter: LineSplitter
        fileprivate let service: PeripheralService
        /// What has come and was not asked for yet, the last first.
        private var ready: [Result<String, TextLineError>] = []

        fileprivate init(
            base: NotificationEvents<[UInt8]>.Iterator, splitter: LineSplitter, service: PeripheralService
        ) {
            self.base = base
            self.splitter = splitter
            self.service = service
        }

        /// The next line, nil after the end.
        public mutating func next() async throws(BLEError) -> String? {
            try await next(isolation: #isolation)
        }

        /// The next line, nil after the end, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> String? {
            while ready.isEmpty {
                switch try await base.next(isolation: actor) {
                case .value(let part): ready = splitter.append(part).reversed()
                case .gap: splitter.reset()
                case nil: return nil
                }
            }
            switch ready.removeLast() {
            case .success(let line): return line
            case .failure(let cause):
                throw BLEError(.invalidValue, "a line is too long", isRetryable: false, cause: cause)
                    .at(
                        service.peripheral.id, service: service.uuid,
                        characteristic: Characteristic.nordicUARTTx.uuid)
            }
        }
    }
}
