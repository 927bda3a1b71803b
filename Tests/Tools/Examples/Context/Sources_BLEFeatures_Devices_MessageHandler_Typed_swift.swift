extension MessageCommand {
    fileprivate static let playMelody = MessageCommand(rawValue: 0x0104)
    fileprivate static let getMelody = MessageCommand(rawValue: 0x0204)
}
