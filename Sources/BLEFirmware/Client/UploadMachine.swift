/// Decides which bytes of an upload are sent next.
///
/// The device says with each response which byte it expects next, and that is where the upload goes on. What the device
/// has acknowledged is not sent again, except for the beginning, with which each attempt asks where to go on.
struct UploadMachine: Sendable {
    /// Why an upload cannot go on.
    enum Failure: Error, Hashable {
        /// The device has repeatedly asked for bytes that it was sent.
        case stalled(offset: Int)
        /// The device expects a byte that does not exist.
        case invalidOffset(Int)
    }

    /// The number of responses in a row without progress that are tolerated.
    static let maximumStalls = 8

    private let total: Int
    private let window: Int
    /// The number of bytes that the device has.
    private(set) var acknowledged: Int
    /// The most that it has had.
    private var highest: Int
    private var next: Int
    private var inFlight: [Range<Int>] = []
    /// Whether the device has said where to begin.
    private var isStarted: Bool
    /// Whether what is in flight is refused, because the device expects other bytes.
    private var isDraining = false
    private var stalls = 0

    /// Creates an upload.
    ///
    /// - Parameters:
    ///   - window: the maximum number of chunks in flight.
    ///   - offset: the number of bytes that the device has. Nil if the response to the beginning will tell.
    init(total: Int, window: Int, offset: Int? = nil) {
        self.total = total
        self.window = max(1, window)
        (acknowledged, highest, next, isStarted) = (offset ?? 0, offset ?? 0, offset ?? 0, offset != nil)
    }

    /// Whether the device has everything.
    var isComplete: Bool { isStarted && acknowledged == total && inFlight.isEmpty }

    /// Whether a response is awaited.
    var isWaiting: Bool { !inFlight.isEmpty }

    /// The offset of the next chunk. Nil if a response must arrive first, or if everything was sent.
    var nextOffset: Int? {
        guard isStarted else { return inFlight.isEmpty ? 0 : nil }
        return !isDraining && inFlight.count < window && next < total ? next : nil
    }

    /// Records that a chunk was sent, which begins at ``nextOffset``.
    mutating func didSend(_ range: Range<Int>) {
        inFlight.append(range)
        next = range.upperBound
    }

    /// Handles the response to the oldest chunk in flight.
    mutating func didReceive(offset: Int) throws(Failure) {
        let range = inFlight.removeFirst()
        guard (0...total).contains(offset) else { throw .invalidOffset(offset) }
        acknowledged = offset
        if offset > highest {
            (highest, stalls) = (offset, 0)
        } else if offset != range.upperBound, !isDraining {
            stalls += 1
        }
        guard stalls <= Self.maximumStalls else { throw .stalled(offset: offset) }
        if !isStarted {
            isStarted = offset > 0 || total == 0
            next = offset
        } else if offset != range.upperBound {
            isDraining = true
        }
        guard isDraining, inFlight.isEmpty else { return }
        isDraining = false
        next = acknowledged
        // The device has forgotten the upload, which begins again.
        if acknowledged == 0 { isStarted = total == 0 }
    }

    /// Handles the loss of everything in flight. The upload goes on after the bytes that the device has.
    ///
    /// - Parameter offset: the number of bytes that the device has. Nil to ask it again.
    mutating func didLose(offset: Int? = nil) {
        inFlight = []
        isDraining = false
        isStarted = offset != nil
        acknowledged = offset ?? acknowledged
        next = offset ?? 0
    }
}
