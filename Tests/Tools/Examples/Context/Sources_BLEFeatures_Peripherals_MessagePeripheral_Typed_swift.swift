extension MessageCommand {
    fileprivate static let setVolume = MessageCommand(rawValue: 0x0104)
}
