/// A radio's way to a peripheral: what the radio hears of it, and whether a link would be made with the radio.
public struct RadioPath: Hashable, Codable, Sendable {
    /// Why no link is made with a radio.
    public enum Obstacle: String, Hashable, Codable, Sendable {
        /// The radio is off, or gone.
        case off
        /// The radio has no slot for another link.
        case noSlot
        /// The program does not allow the radio for this peripheral.
        case notAllowed
        /// The peripheral is paired with another radio, which has its keys.
        case keysElsewhere
        /// Another radio has a link to the peripheral, or makes one.
        case heldByAnother
    }

    /// The name of the radio.
    public let radio: String
    /// The smoothed signal strength of the peripheral's advertisements, in dBm. Nil if none was heard, or if the radio
    /// does not report it.
    public let rssi: Int?
    /// The time since the last advertisement. Nil if none was heard.
    public let age: Duration?
    /// The advertising interval as learned from this radio: the longest of the last gaps, at least 16 if there were so
    /// many. Nil before the second advertisement.
    public let interval: Duration?
    /// The number of further links that the radio can make. Nil if it does not say so.
    public let freeSlots: Int?
    /// The strength with what counts for and against the radio, in dBm. Of the radios without an obstacle that hear the
    /// peripheral, a link is made with the one of the highest score.
    public let score: Int
    /// Why no link is made with the radio. Nil if one may be made.
    public let obstacle: Obstacle?

    /// Creates a path.
    public init(
        radio: String, rssi: Int? = nil, age: Duration? = nil, interval: Duration? = nil, freeSlots: Int? = nil,
        score: Int, obstacle: Obstacle? = nil
    ) {
        (self.radio, self.rssi, self.age, self.interval) = (radio, rssi, age, interval)
        (self.freeSlots, self.score, self.obstacle) = (freeSlots, score, obstacle)
    }
}
