public import BLE

/// The lines of text that a Nordic UART sends, in UTF-8, without their line ends, which are LF or CR LF.
///
/// Bytes that are not UTF-8 become U+FFFD. A line that is too long throws `invalidValue`, caused by a
/// ``TextLineError``; the next call of `next()` continues with the line after it. A line that was incomplete when a
/// maintained link was lost is omitted, and so is an incomplete line at the end of the stream.
public struct NordicUARTLines: AsyncSequence, Sendable {
    /// The type of the elements, each a line.
    public typealias Element = String
    /// The type of the errors that iterating throws.
    public typealias Failure = BLEError

    let events: NotificationEvents<[UInt8]>
    let limit: Int
    let service: PeripheralService

    /// Creates an iterator.
    public func makeAsyncIterator() -> Iterator {
        Iterator(base: events.makeAsyncIterator(), splitter: LineSplitter(limit: limit), service: service)
    }

    /// An iterator over the lines.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: NotificationEvents<[UInt8]>.Iterator
        fileprivate var splitter: LineSplitter
        fileprivate let service: PeripheralService
        /// The lines that are ready to be returned, in reverse order.
        private var ready: [Result<String, TextLineError>] = []

        fileprivate init(
            base: NotificationEvents<[UInt8]>.Iterator, splitter: LineSplitter, service: PeripheralService
        ) {
            self.base = base
            self.splitter = splitter
            self.service = service
        }

        /// Returns the next line, or nil at the end.
        public mutating func next() async throws(BLEError) -> String? {
            try await next(isolation: #isolation)
        }

        /// Returns the next line, or nil at the end, without leaving the caller's actor.
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
