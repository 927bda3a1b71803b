extension MessageCommand {
    fileprivate static let setVolume = MessageCommand(rawValue: 0x0104)
    fileprivate static let volumeChanged = MessageCommand(rawValue: 0x0204)
    fileprivate static let getName = MessageCommand(rawValue: 0x0304)
}
