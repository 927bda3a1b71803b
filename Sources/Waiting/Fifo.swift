/// A first-in, first-out queue. Its operations take amortized constant time.
///
/// Public and inlinable for the same reason as ``TimerQueue``.
public struct Fifo<Element> {
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    @inlinable
    public init() {}

    @inlinable
    public var isEmpty: Bool { head == elements.count }

    @inlinable
    public mutating func append(_ element: Element) { elements.append(element) }

    /// Adds elements in front of all others, in their order. Takes time for the other elements only if fewer than that
    /// many have been removed.
    @inlinable
    public mutating func prepend(_ elements: [Element]) {
        let start = max(0, head - elements.count)
        self.elements.replaceSubrange(start..<head, with: elements)
        head = start
    }

    @inlinable
    public mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        defer {
            elements[head] = nil
            head += 1
            // Half of the elements are removed at once, so that this happens rarely.
            if head > 16, head * 2 > elements.count {
                elements.removeFirst(head)
                head = 0
            }
        }
        return elements[head]
    }
}

extension Fifo: Sendable where Element: Sendable {}
