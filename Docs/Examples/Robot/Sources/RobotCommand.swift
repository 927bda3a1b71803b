import BLEFeatures

/// A color of a light.
struct Color: Equatable, Sendable {
    var red: UInt8
    var green: UInt8
    var blue: UInt8

    var bytes: [UInt8] { [red, green, blue] }
}

/// What the robot can be told to do. Several commands can be sent in one frame.
enum RobotCommand: Equatable, Sendable {
    /// All lights change their colors by themselves.
    case rainbow
    /// One light, at a position and with an id.
    case light(position: UInt8, id: UInt8, Color)
    /// One of the two eyes.
    case eye(Side, Color)
    /// One of the two wheels, from -1, backward, to 1, forward.
    case wheel(Side, speed: Double)
    /// A part of the ring of lights.
    case ring(from: UInt8, through: UInt8, Color)

    enum Side: Sendable {
        case left
        case right
    }

    /// The command with its id and its body. `ChecksumFrame` adds the checksum.
    var encoded: ChecksumFrame.Command {
        switch self {
        case .rainbow: ChecksumFrame.Command(id: 0x50, body: [0x51])
        case .light(let position, let id, let color):
            ChecksumFrame.Command(id: 0x10, body: [position, id] + color.bytes)
        case .eye(let side, let color):
            ChecksumFrame.Command(id: 0x13, body: [side == .left ? 0x14 : 0x15] + color.bytes)
        case .wheel(let side, let speed):
            ChecksumFrame.Command(
                id: 0x20,
                body: [side == .left ? 0x21 : 0x22, speed < 0 ? 0x02 : 0x01, UInt8(min(1, abs(speed)) * 255)])
        case .ring(let first, let last, let color):
            ChecksumFrame.Command(id: 0x16, body: [0x18, first, last] + color.bytes)
        }
    }
}
