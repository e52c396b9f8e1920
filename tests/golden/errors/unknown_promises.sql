SET promises = 'on demnd';
