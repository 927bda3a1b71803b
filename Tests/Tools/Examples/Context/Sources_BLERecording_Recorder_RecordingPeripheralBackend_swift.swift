let recorder = Recorder()
